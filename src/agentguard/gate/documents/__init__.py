"""Trusted documents: fetched from their sources, cleaned, cut into chunks, and put into an index."""
