"""A difference of two runs for the terminal: kernel by kernel, line by line, and what came and went."""

from __future__ import annotations

from rich.cells import cell_len

from lanewise.catalogue import Catalogue
from lanewise.records import Finding, LaunchRecord
from lanewise.report import advice, text
from lanewise.report.diff import MORE_IS_BETTER, Change, KernelDiff, LineDiff, RunDiff
from lanewise.report.excerpt import basename
from lanewise.report.facts import shape
from lanewise.report.table import table

_TEXT_WIDTH = 60  # columns of a source line


def diff_lines(difference: RunDiff, words: Catalogue, width: int) -> list[str]:
    lines: list[str] = []
    same = [kernel for kernel in difference.kernels if not _differs(kernel)]
    for kernel in difference.kernels:
        if kernel.remarks or kernel not in same:
            lines += [*_kernel(kernel, words, width), ""]
    lines += _findings(difference.came, difference.went, "", words, width)
    for key, left in (("diff.only_before", difference.only_before), ("diff.only_after", difference.only_after)):
        for name in dict.fromkeys(_named(launch, words, width - 20) for launch in left):
            lines += text.wrap(words.say(key, kernel=name), width, rest="  ")
    kernels = words.count(len(difference.kernels), "kernel")
    lines.append(words.say("diff.summary", kernels=kernels, same=text.count(len(same))))
    for kernel in same:
        name = _named(kernel.after[0], words, width - 20)
        lines.append(f"  {name}  {words.count(len(kernel.after), 'launch')}")
    return lines


def message(finding: Finding, words: Catalogue) -> str:
    """What a finding says, in the language of `words` where it is advice."""
    return text.clean(advice.said(finding, "message", words) or words.retell(finding.message))


def _differs(kernel: KernelDiff) -> bool:
    before, after = kernel.before[0], kernel.after[0]
    return bool(
        any(change.before != change.after for change in kernel.changes)
        or kernel.lines
        or kernel.came
        or kernel.went
        or len(kernel.before) != len(kernel.after)
        or (before.kernel, before.grid, before.block, before.cluster)
        != (after.kernel, after.grid, after.block, after.cluster)
    )


def _kernel(kernel: KernelDiff, words: Catalogue, width: int) -> list[str]:
    old, new = (
        f"{_named(side[0], words, width - 24)}  {words.count(len(side), 'launch')}"
        for side in (kernel.before, kernel.after)
    )
    lines = [new] if old == new else [new, "  " + words.say("diff.before", kernel=old)]
    changed = [change for change in kernel.changes if change.before != change.after]
    if changed or kernel.lines:
        lines += _table(changed, kernel, words, width)
    else:
        lines.append("  " + words.say("diff.same"))
    lines += _findings(kernel.came, kernel.went, "  ", words, width)
    for remark in kernel.remarks:
        lines += text.wrap(
            words.say(f"not_compared.{remark}"),
            width,
            first=f"  {words.say('finding.note')}{words.say('report.colon')}",
        )
    return lines


def _table(changed: list[Change], kernel: KernelDiff, words: Catalogue, width: int) -> list[str]:
    heads = (words.say(f"diff.{name}_head") for name in ("value", "before", "after", "change"))
    rows = [(*heads, "", "")]
    rows += [_cells(change, kernel.basis, "", words.say(f"in_units.{change.name}"), words) for change in changed]
    lines_at = {}  # source lines, by the row that they stand before: a long one must not widen the table
    for line in kernel.lines:
        lines_at[len(rows)] = _line_head(line, words)
        rows += [_cells(change, "ptx", "  ", "", words) for change in line.changes]
    made = []
    for position, row in enumerate(table(rows, "lrrrll")):
        made += [f"  {lines_at[position]}"] if position in lines_at else []
        made.append(f"  {row}")
    return made


def _line_head(line: LineDiff, words: Catalogue) -> str:
    number = str(line.before if line.after is None else line.after)
    if line.before is None:
        number = words.say("diff.new_line", line=number)
    elif line.after is None:
        number = words.say("diff.gone_line", line=number)
    elif line.before != line.after:
        number = words.say("diff.moved_line", line=number, before=str(line.before))
    return f"{text.clean(basename(line.file))}:{number}  {text.cut(text.clean(line.text), _TEXT_WIDTH)}".rstrip()


def _cells(change: Change, basis: str, indent: str, unit: str, words: Catalogue) -> tuple[str, ...]:
    name = "ptx_instructions" if change.name == "instructions" and basis == "ptx" else change.name
    label = indent + words.say(f"differs.{name}")
    worse = change.worse_by
    if worse is None:
        return (label, _value(change.before), _value(change.after), "", "", unit)
    signed = -worse if change.name in MORE_IS_BETTER else worse
    digits = 0 if abs(worse) >= 1 else 1
    share = "" if abs(worse) == float("inf") else f"{100 * signed:+,.{digits}f} %"
    judged = words.say("diff.worse" if worse > 0 else "diff.better")
    return (label, _value(change.before), _value(change.after), share, judged, unit)


def _value(value: float | None) -> str:
    if value is None:
        return "-"
    return text.count(int(value)) if value == int(value) else f"{value:,.2f}"


def _findings(
    came: tuple[Finding, ...], went: tuple[Finding, ...], indent: str, words: Catalogue, width: int
) -> list[str]:
    lines = []
    for key, found in (("diff.new", came), ("diff.gone", went)):
        for finding in found:
            at = advice.place(finding, words).removesuffix(": ")
            said = words.say(
                f"{key}_at" if at else key,
                check=text.clean(finding.check),
                place=at,
                message=message(finding, words),
            )
            lines += text.wrap(said, width, first=indent, rest=f"{indent}  ")
    return lines


def _named(launch: LaunchRecord, words: Catalogue, width: int) -> str:
    shaped = shape(launch, words)
    return f"{text.shorten(text.kernel_name(launch.kernel), width - cell_len(shaped))}  {shaped}"
