"""The default engine with nobody reviewing: honest calls, genuine changes, faults that stay, single faults."""
