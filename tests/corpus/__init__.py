"""Files of every kind as rows of tables, each with the bars or the refusal that it gives."""
