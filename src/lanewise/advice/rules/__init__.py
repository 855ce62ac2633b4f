"""One file a rule; `registry.py` finds them."""
