"""All evidence on a finished run, gathered: the search repeated, held against null markets."""
