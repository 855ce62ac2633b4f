"""What a launch was given and how much it ran, in sentences."""

from __future__ import annotations

from lanewise.catalogue import Catalogue
from lanewise.records import LaunchRecord, Occupancy
from lanewise.report import text
from lanewise.report.fold import Fold


def shape(launch: LaunchRecord, words: Catalogue) -> str:
    """As in the source: <<<(16,16), 256>>>."""
    shared = f", {launch.dynamic_shared_bytes}" if launch.dynamic_shared_bytes else ""
    given = f"<<<{text.dims(launch.grid)}, {text.dims(launch.block)}{shared}>>>"
    return (
        given if launch.cluster is None else f"{given}  {words.say('facts.clusters', shape=text.dims(launch.cluster))}"
    )


def resources(launch: LaunchRecord, words: Catalogue) -> str:
    """What a thread and a block are given."""
    given, dynamic = launch.resources, launch.dynamic_shared_bytes
    if given is None:
        return words.say("facts.unknown")
    static = given.static_shared_bytes
    sizes = {"size": text.size(static + dynamic), "static": text.size(static), "dynamic": text.size(dynamic)}
    parts = [words.count(given.registers, "register")]
    parts.append(words.say("facts.shared_both" if static and dynamic else "facts.shared", **sizes))
    if given.local_bytes:
        parts.append(words.say("facts.local", size=text.size(given.local_bytes)))
    if given.spill_store_bytes or given.spill_load_bytes:
        stored, loaded = text.size(given.spill_store_bytes), text.size(given.spill_load_bytes)
        parts.append(words.say("facts.spills", stored=stored, loaded=loaded))
    return words.listed(parts)


def occupancy(launch: LaunchRecord, words: Catalogue) -> str:
    """Warps on an SM, and what limits them; empty where that is not known."""
    return "" if launch.occupancy is None else occupancy_words(launch.occupancy, words)


def occupancy_words(known: Occupancy, words: Catalogue) -> str:
    return words.say(
        "facts.occupancy_limited" if known.binding else "facts.occupancy",
        share=text.percent(known.active_warps, known.max_warps),
        warps=str(known.active_warps),
        most=str(known.max_warps),
        blocks=words.count(known.active_blocks, "block"),
        limits=words.say("report.and").join(words.name("limit", limit) for limit in known.binding),
    )


def executions(fold: Fold, words: Catalogue) -> str:
    """Instructions by warps and by threads: of the machine code where it is known."""
    if not fold.ptx_instructions:
        return ""
    key, warps, threads = "facts.ptx_instructions", fold.ptx_instructions, fold.ptx_thread_instructions
    if fold.instructions and fold.thread_instructions is not None:
        key, warps, threads = "facts.instructions", fold.instructions, fold.thread_instructions
    return words.say(key, warps=text.count(warps), threads=text.count(threads), lanes=text.per(threads, warps))
