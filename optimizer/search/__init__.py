"""The search: from a problem and settings to generations, and to a front.

It knows genomes, objectives and violations; it neither knows bars nor writes anything. Nothing is
imported here: to know a generation's types takes no compiler.
"""

SEARCH_VERSION = 5
"""Goes up whenever the same seed and settings lead to other individuals."""
