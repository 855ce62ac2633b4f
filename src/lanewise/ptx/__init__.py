"""The PTX language: parser, syntax tree, and the one table of instructions."""
