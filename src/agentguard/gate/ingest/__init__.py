"""Trusted documents: fetched, cleaned, cut into chunks, and put into an index."""
