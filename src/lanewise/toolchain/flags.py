"""The flags a user would give nvcc, sorted by what `lanewise run` does with them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lanewise.errors import UsageError
from lanewise.toolchain import arch as architectures


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# nvcc 13.0's flags whose value is the next argument when it is not attached, with "=" or (of -I and the like) directly.
_TAKES_VALUE = _words(
    """-I --include-path -isystem --system-include -include --pre-include -D --define-macro -U --undefine-macro
    -L --library-path -l --library -O --optimize -std --std -x --x -ccbin --compiler-bindir -arbin --archiver-binary
    -Xcompiler --compiler-options -Xlinker --linker-options -Xptxas --ptxas-options -Xnvlink --nvlink-options
    -Xfatbin --fatbin-options -Xarchive --archive-options -Xcudafe --cudafe-options -e --entries
    -arch --gpu-architecture -code --gpu-code -gencode --generate-code -cudart --cudart -cudadevrt --cudadevrt
    -maxrregcount --maxrregcount -t --threads -rdc --relocatable-device-code -diag-suppress --diag-suppress
    -diag-error --diag-error -diag-warn --diag-warn -Werror --Werror -o --output-file -MF --dependency-output
    -MT --dependency-target-name -optf --options-file -odir --output-directory -keep-dir --keep-dir
    -idp --input-drive-prefix -dp --drive-prefix -ddp --dependency-drive-prefix
    -ldir --libdevice-directory -target-dir --target-directory -ftz --ftz -prec-div --prec-div
    -prec-sqrt --prec-sqrt -fmad --fmad -default-stream --default-stream -m --machine
    -split-compile --split-compile -split-compile-extended --split-compile-extended -dopt --dopt
    -opt-info --optimization-info -Ofc --Ofast-compile -ftemplate-depth --ftemplate-depth
    -ftemplate-backtrace-limit --ftemplate-backtrace-limit -fdevice-time-trace --fdevice-time-trace -time --time
    -static-global-template-stub --static-global-template-stub -brief-diag --brief-diagnostics
    -device-entity-has-hidden-visibility --device-entity-has-hidden-visibility -hls --host-linker-script
    -jtd --jump-table-density -device-stack-protector --device-stack-protector -compress-mode --compress-mode
    -frandom-seed --frandom-seed -sanitize --sanitize -run-args --run-args"""
)
_ARCH = frozenset(("-arch", "--gpu-architecture", "-code", "--gpu-code", "-gencode", "--generate-code"))
_CUDART = frozenset(("-cudart", "--cudart"))
_LINK_TIME = frozenset(("-dlto", "--dlink-time-opt", "-lto"))
_LINE_INFORMATION = frozenset(("-lineinfo", "--generate-line-info"))
_OPTION_FILES = frozenset(("-optf", "--options-file"))
_DEBUG = frozenset(("-G", "--device-debug"))
_OUTPUT = frozenset(("-o", "--output-file", "-MF", "--dependency-output", "-odir", "--output-directory"))
_PHASES = _words(
    """-c --compile -dc --device-c -dw --device-w -dlink --device-link -lib --lib -link --link -run --run
    -ptx --ptx -cubin --cubin -fatbin --fatbin -cuda --cuda -ltoir --ltoir -optix-ir --optix-ir -E --preprocess
    -M -MM -MD -MMD --generate-dependencies --generate-nonsystem-dependencies
    --generate-dependencies-with-compile --generate-nonsystem-dependencies-with-compile
    -dryrun --dryrun -n -clean --clean-targets -h --help -V --version -shared --shared"""
)
_LINKING = _words("-l -L -Xlinker --linker-options --library --library-path -Xnvlink --nvlink-options")
_COMPILING = _words("""-I --include-path -isystem --system-include -include --pre-include
                       -D --define-macro -U --undefine-macro -x --x""")
# Flags whose value may be attached without "=", and whole flags that begin like -l.
_ATTACHED = ("-I", "-D", "-U", "-L", "-O", "-l")
_NO_LIBRARIES = _LINK_TIME | _LINE_INFORMATION | _PHASES


@dataclass(frozen=True, slots=True)
class Flags:
    """`common` go to every nvcc call, `compile_only` and `link` to those; `ignored` and why, for the run's notes."""

    common: tuple[str, ...]
    compile_only: tuple[str, ...]
    link: tuple[str, ...]
    ignored: tuple[str, ...]
    arch_flags: tuple[str, ...]
    arch: str | None  # the architecture that the flags ask for, such as "sm_80"; None where they name none or several
    debug: bool
    relocatable: bool
    optimised: bool
    host_compiler: str | None

    def ignored_for(self, arch: str) -> tuple[str, ...]:
        """What is ignored where the code is compiled for `arch`."""
        if self.arch == arch:
            return self.ignored
        why = "(the code is compiled for the device; choose that with --device or --arch)"
        return (*(f"{flag} {why}" for flag in self.arch_flags), *self.ignored)


def parse(flags: Sequence[str]) -> Flags:
    """Sort nvcc's flags. UsageError for those that ask for something other than a program."""
    common: list[str] = []
    compile_only: list[str] = []
    link_flags: list[str] = []
    ignored: list[str] = []
    arch_flags: list[str] = []
    wanted: list[str] = []
    debug = relocatable = optimised = False
    host_compiler = None
    for flag, value, words in split(flags):
        text = " ".join(words)
        if flag in _PHASES:
            raise UsageError(
                f"{text} asks nvcc for something other than a program",
                next_step="leave it out: give the sources and their flags, and the program is built and run",
            )
        if flag in _OUTPUT:
            raise UsageError(f"{text} names an output file, and there is none", next_step="leave it out")
        if flag in _ARCH:
            wanted += _architectures(value)
            arch_flags.append(text)
        elif flag in _CUDART:
            if value != "shared":
                ignored.append(f"{text} (the program is linked with Lanewise's own runtime)")
        elif flag in _LINK_TIME:
            relocatable = True
            common.append("-rdc=true")
            ignored.append(f"{text} (optimising at link time leaves no PTX; the code is linked without it)")
        elif flag in ("-l", "--library") and value == "cudart_static":
            ignored.append(f"{text} (the program is linked with Lanewise's own runtime)")
        elif flag in _LINKING:
            link_flags += words
        elif flag in _COMPILING:
            compile_only += words
        elif flag in _LINE_INFORMATION:
            continue  # always there, except with -G, which has more
        else:
            debug = debug or flag in _DEBUG
            optimised = optimised or flag in ("-O", "--optimize")
            if flag in ("-rdc", "--relocatable-device-code"):
                relocatable = value == "true"
            if flag in ("-ccbin", "--compiler-bindir"):
                host_compiler = value
            common += words
    single = {name for name in wanted if name}
    return Flags(
        common=tuple(common),
        compile_only=tuple(compile_only),
        link=tuple(link_flags),
        ignored=tuple(ignored),
        arch_flags=tuple(arch_flags),
        arch=single.pop() if len(single) == 1 else None,
        debug=debug,
        relocatable=relocatable,
        optimised=optimised,
        host_compiler=host_compiler,
    )


def split(flags: Sequence[str]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(flag, value, the words as given): "-arch=sm_80", "-arch sm_80" and "-Idir" in one form. A word that is no flag
    comes as a flag without a value. Files of options are read in place."""
    words = iter(flags)
    for word in words:
        name, equals, value = word.partition("=")
        item: tuple[str, str, tuple[str, ...]]
        if equals and name in _TAKES_VALUE:
            item = name, value, (word,)
        elif word in _TAKES_VALUE:
            following = next(words, None)
            if following is None:
                raise UsageError(f"{word} needs a value after it", next_step="add it, or leave the flag out")
            item = word, following, (word, following)
        elif word.startswith(_ATTACHED) and name not in _NO_LIBRARIES:
            item = word[:2], word[2:], (word,)
        else:
            item = word, "", (word,)
        if item[0] in _OPTION_FILES:
            for file in item[1].split(","):
                yield from split(_options_in(Path(file)))
        else:
            yield item


def _options_in(file: Path) -> list[str]:
    try:
        return shlex.split(file.read_text())
    except (OSError, ValueError) as error:
        raise UsageError(f"the options in {file} cannot be read: {error}", next_step="check the file") from error


def specific(flags: Sequence[str], arch: str) -> str:
    """The architecture to compile a program for: the device's, with the suffix that the flags give it (sm_90a)."""
    own, asked = architectures.parse(arch), parse(flags).arch
    wanted = own if asked is None else architectures.parse(asked)
    return wanted.real if wanted.number == own.number and wanted.suffix else arch


def _architectures(value: str) -> Iterator[str]:
    """The numbers in "sm_80", "compute_80,sm_86" or "arch=compute_80,code=[sm_80,compute_80]", as sm_ names."""
    for part in value.replace("[", "").replace("]", "").replace('"', "").split(","):
        name = part.rpartition("=")[2]
        try:
            yield architectures.parse(name).real
        except UsageError:  # native, all, all-major
            continue
