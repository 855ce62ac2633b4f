"""What to change in a kernel: rules that look at a launch, and changes that are tried before they are given."""
