"""Build the documentation: figures from saved runs, reference pages, the site, checks of the English."""
