"""What the text of a result or an answer says: detectors, each a pure function of its own, usable alone."""
