"""The PTX language: parser, syntax tree, and the one table of instructions."""

from lanewise.ptx.parser import NEWEST_VERSION, parse
from lanewise.ptx.registers import function_register_type

__all__ = ["NEWEST_VERSION", "function_register_type", "parse"]
