"""The rules: every module of `rules/`, in the order of their names."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from lanewise.advice import rules
from lanewise.advice.rule import Rule


@cache
def all_rules() -> tuple[Rule, ...]:
    """Each module has one `RULE` of its own name."""
    found = []
    for module in sorted(iter_modules(rules.__path__), key=lambda module: module.name):
        rule: Rule = import_module(f"{rules.__name__}.{module.name}").RULE
        if rule.name != module.name:
            raise ValueError(f"the rule of {module.name}.py is called {rule.name}")
        found.append(rule)
    return tuple(found)
