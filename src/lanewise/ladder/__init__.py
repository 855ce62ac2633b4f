"""The ladder: for each subject of memory optimisation a sequence of kernels, each one idea, with its claim as data."""

from lanewise.ladder.catalog import Rung, Subject, load, subjects
from lanewise.ladder.plan import Plan, resolve

__all__ = ["Plan", "Rung", "Subject", "load", "resolve", "subjects"]
