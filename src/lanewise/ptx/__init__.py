"""The PTX language: parser, syntax tree, and the one table of instructions."""

from lanewise.ptx.calls import Call, call_parts
from lanewise.ptx.parser import NEWEST_VERSION, parse
from lanewise.ptx.registers import function_register_type

__all__ = ["NEWEST_VERSION", "Call", "call_parts", "function_register_type", "parse"]
