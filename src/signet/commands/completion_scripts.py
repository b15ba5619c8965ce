"""The completion scripts of bash, zsh and fish, written from the commands and the tools. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .completion import CompletedCommand, CompletedFlag

from signet.system.text import fit

__all__ = ["SCRIPTS"]

Tools = Mapping[str, Mapping[str, list[str]]]
"""The arguments of each tool, each with the values that it may have."""

PROGRAMS: Final = ("signet", "signet-mcp")
MAX_TEXT_CHARS: Final = 70

FIND: Final = """\
  # The command is the first word that is no flag; some commands have others below them.
  for ((i = {first}; i < {last}; i++)); do
    word=${{{words}[i]}}
    case $word in
      -*) ;;
      *)
        if [[ -z $at ]]; then at=$word
        elif [[ " {parents} " == *" $at "* ]]; then at="$at $word"
        elif [[ -z $tool && " {tools} " == *" $word "* ]]; then tool=$word
        fi ;;
    esac
  done
"""
BASH: Final = """\
# bash completion for signet: source <(signet completion bash)
_signet() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} at= tool= word i key=
  local flags= words= keys=
  COMPREPLY=()
{find}
  # bash splits key=value into three words.
  if [[ $cur == = ]]; then key=$prev cur=
  elif [[ $prev == = ]]; then key=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  if [[ -n $key && $key == -* ]]; then prev=$key key=; fi
  if [[ -n $key ]]; then
    case $tool.$key in
{values}
      *) [[ $cur == @* ]] && COMPREPLY=($(compgen -P @ -f -- "${{cur#@}}")) ;;
    esac
    return
  fi
  case $at,$prev in
{behind}
  esac
  case $at in
{commands}
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
    return
  fi
  case $at in
    call) if [[ -z $tool ]]; then words="{tools}"; fi ;;
    tools) words="{tools}" ;;
  esac
  if [[ $at == call && -n $tool ]]; then
    case $tool in
{keys}
    esac
    COMPREPLY=($(compgen -W "$keys" -- "$cur"))
    compopt -o nospace 2>/dev/null
  elif [[ $words == @files* ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -W "${{words#@files}}" -- "$cur") $(compgen -f -- "$cur"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}}
complete -F _signet {programs}"""

ZSH: Final = """\
#compdef {programs}
# zsh completion for signet: source <(signet completion zsh), behind compinit
_signet() {{
  local at= tool= word key= prev=${{words[CURRENT-1]}} cur=${{words[CURRENT]}}
  local -i i
  local -a flags names keys
{find}
  if [[ -n $tool && $at == call && $cur == *=* ]]; then
    key=${{cur%%=*}}
    compset -P '*='
    case $tool.$key in
{values}
      *) compset -P '@' && _files ;;
    esac
    return
  fi
  case $at,$prev in
{behind}
  esac
  case $at in
{commands}
  esac
  if [[ $cur == -* ]]; then
    _describe -o 'option' flags
    return
  fi
  if [[ $at == call && -n $tool ]]; then
    case $tool in
{keys}
    esac
    compadd -S '=' -- $keys
  elif [[ $at == call || $at == tools ]]; then
    compadd -- {tools}
  elif [[ $names[1] == @files ]]; then
    shift names
    compadd -- $names || _files
  else
    _describe 'command' names
  fi
}}
if [[ $funcstack[1] == _signet ]]; then
  _signet "$@"
else
  compdef _signet {programs}
fi"""

FISH: Final = """\
# fish completion for signet: signet completion fish > ~/.config/fish/completions/signet.fish
function __signet_words
  # The command that is written so far, and behind it the tool.
  set -l at
  set -l tool
  for word in (commandline -opc)[2..-1]
    switch $word
      case '-*'
      case '*'
        if test -z "$at"
          set at $word
        else if contains -- "$at" {parents}
          set at "$at $word"
        else if test -z "$tool"; and contains -- $word {tools}
          set tool $word
        end
    end
  end
  echo "$at"
  echo "$tool"
end
function __signet_at
  set -l words (__signet_words)
  test "$words[1]" = "$argv[1]"
end
function __signet_tool
  set -l words (__signet_words)
  test "$words[1]" = call -a "$words[2]" = "$argv[1]"
end
"""


def _short(text: str) -> str:
    """Return the beginning of a help text, up to its first note."""
    text = text.partition(" (default")[0].partition(";")[0]
    return fit(text, MAX_TEXT_CHARS)


def _cases(lines: Mapping[str, str], indent: str = "    ") -> str:
    return "\n".join(f"{indent}{shlex.quote(pattern)}) {body} ;;" for pattern, body in lines.items())


def _flags_with_values(commands: list[CompletedCommand]) -> list[tuple[str, CompletedFlag]]:
    """Return each flag that takes a value, by the words of its command and its own name."""
    return [
        (f"{command.words},{name}", flag)
        for command in commands
        for flag in command.flags
        if flag.takes != "none"
        for name in flag.names
    ]


def _parents(commands: list[CompletedCommand]) -> list[str]:
    return [command.words for command in commands if command.below and command.words]


def _bash(commands: list[CompletedCommand], tools: Tools) -> str:
    generators = {"file": "-f", "folder": "-d"}
    behind = {
        place: _compgen(generators.get(flag.takes, f"-W {_words(flag.choices)}")) + "; return"
        for place, flag in _flags_with_values(commands)
    }
    lines = {
        command.words: f"flags={_words(_flag_names(command))} words="
        + _words([*(["@files"] if command.takes_files else command.below), *command.choices])
        for command in commands
    }
    values = {
        f"{tool}.{key}": _compgen(f"-W {_words(choices)}")
        for tool, keys in tools.items()
        for key, choices in keys.items()
        if choices
    }
    return BASH.format(
        find=_find(commands, tools, words="COMP_WORDS", first="1", last="COMP_CWORD"),
        values=_cases(values, "      "),
        behind=_cases(behind),
        commands=_cases(lines),
        keys=_cases({tool: "keys=" + _words(f"{key}=" for key in keys) for tool, keys in tools.items()}, "      "),
        tools=" ".join(tools),
        programs=" ".join(PROGRAMS),
    )


def _compgen(generator: str) -> str:
    return f'COMPREPLY=($(compgen {generator} -- "$cur"))'


def _words(words: Iterable[str]) -> str:
    """Return several words as one of the shell's."""
    return shlex.quote(" ".join(words))


def _find(commands: list[CompletedCommand], tools: Tools, **places: str) -> str:
    return FIND.format(parents=" ".join(_parents(commands)), tools=" ".join(tools), **places)


def _flag_names(command: CompletedCommand) -> list[str]:
    return [name for flag in command.flags for name in flag.names]


def _zsh(commands: list[CompletedCommand], tools: Tools) -> str:
    actions = {"file": "_files", "folder": "_files -/", "value": "_message value"}
    behind = {
        place: f"{actions.get(flag.takes) or 'compadd -- ' + ' '.join(flag.choices)}; return"
        for place, flag in _flags_with_values(commands)
    }
    lines = {}
    for command in commands:
        flags = [_described(name, flag.help) for flag in command.flags for name in flag.names]
        words = [_described(name, text) for name, text in command.below.items()] + command.choices
        words = ["@files", *command.choices] if command.takes_files else words
        lines[command.words] = f"flags=({' '.join(flags)}); names=({' '.join(words)})"
    values = {
        f"{tool}.{key}": f"compadd -- {' '.join(map(shlex.quote, choices))}"
        for tool, keys in tools.items()
        for key, choices in keys.items()
        if choices
    }
    return ZSH.format(
        find=_find(commands, tools, words="words", first="2", last="CURRENT"),
        values=_cases(values, "      "),
        behind=_cases(behind),
        commands=_cases(lines),
        keys=_cases({tool: f"keys=({' '.join(keys)})" for tool, keys in tools.items()}, "      "),
        tools=" ".join(tools),
        programs=" ".join(PROGRAMS),
    )


def _described(name: str, text: str) -> str:
    return shlex.quote(f"{name}:{_short(text).replace(':', chr(92) + ':')}")


def _fish(commands: list[CompletedCommand], tools: Tools) -> str:
    lines = [FISH.format(parents=" ".join(_parents(commands)), tools=" ".join(tools))]
    for program in PROGRAMS:
        lines.append(f"complete -c {program} -f")
        for command in commands:
            lines += _fish_command(program, command, tools)
        for tool, keys in tools.items():
            pairs = [f"{key}={value}" for key, choices in keys.items() for value in ["", *choices]]
            lines.append(f"complete -c {program} -n '__signet_tool {tool}' -a {_words(pairs)}")
    return "\n".join(lines)


def _fish_command(program: str, command: CompletedCommand, tools: Tools) -> list[str]:
    here = f"""complete -c {program} -n '__signet_at "{command.words}"'"""
    lines = [f"{here} -a {name} -d {_fish_quote(_short(text))}" for name, text in command.below.items()]
    if command.choices:
        lines.append(f"{here} -a {_words(command.choices)}")
    if command.takes_files:
        lines.append(f"{here} -F")
    if command.takes_tools:
        until = """complete -c {program} -n '__signet_tool ""'""" if command.words == "call" else here
        lines.append(f"{until.format(program=program)} -a {_words(tools)}")
    actions = {"none": "", "file": " -r -F", "folder": " -x -a '(__fish_complete_directories)'", "value": " -x"}
    for flag in command.flags:
        names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
        takes = actions.get(flag.takes, f" -x -a {_words(flag.choices)}")
        lines.append(f"{here} {names}{takes} -d {_fish_quote(_short(flag.help))}")
    return lines


def _fish_quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SCRIPTS: Final[dict[str, Callable[[list[CompletedCommand], Tools], str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
