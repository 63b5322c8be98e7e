"""Where trusted documents are searched."""
