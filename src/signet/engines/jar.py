"""The jar: PlantUML in Java, for what the JavaScript engine lacks, in one process for each diagram and format.

A process that drew several would need a mark between its pictures, and a diagram that learns the mark would give its
caller's picture to the next. A diagram must never reach a file, an address or a variable: PlantUML's own profile
SANDBOX sees to it in a jar that has it, and Java's security manager where Java has one (until 23). The policy must
grant all properties, which PlantUML lists when it draws an error, and %getenv reads them in older jars: so none of them
tells anything of the user or of the machine's folders, but for java.home and what Java says of itself, without which it
does not run. To refuse %getenv by its name is a courtesy alone; a diagram can spell it in many ways.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import re
import shutil
import time
import zipfile
from functools import partial
from typing import Final

import msgspec

from signet.system.piped_process import ChildEndedError, KillHandle, PipedProcess
from signet.system.processes import ProcessLimits

from .picture import DiagramError, find_error, is_unsupported, lacks_graphviz, without_unsafe_links
from .places import DrawingPlaces
from .pool import PREFIX, Pool
from .renderer import MAX_PICTURE_BYTES, Form, Limits, failed, too_heavy, too_large, too_slow

__all__ = ["DEBIAN", "Jar", "find_jar"]

DEBIAN: Final = "/usr/share/plantuml/plantuml.jar"
FLAGS: Final[dict[str, str]] = {"svg": "-tsvg", "png": "-tpng", "txt": "-tutxt"}
START_S: Final = 10.0
"""What Java may take to start, beyond the diagram's own time."""
NO_MANAGER: Final = 24
"""The first release of Java without a security manager."""
OUT_OF_MEMORY: Final = 3
"""The exit status of Java when its heap is full."""
PROFILE: Final = "net/sourceforge/plantuml/security/SecurityProfile.class"
MARKS: Final = re.compile(r"(?:\W|<[^<>]*>)*[@\\](?:start|end|pause|unpause|append)", re.ASCII)
"""A line with which PlantUML begins or ends a diagram: with one of them inside, there would be several pictures."""
GETENV: Final = re.compile(r"%getenv\b", re.IGNORECASE)
RELEASE: Final = re.compile(r'JAVA_VERSION="(?:1\.)?(\d+)')
FORMULA: Final = re.compile(r"\s*@start(?:math|latex|jcckit)\b", re.IGNORECASE)
"""The beginning of kinds of diagrams that need a library which a jar may lack, or files that no diagram may read."""
HERE: Final = "/proc/self/cwd"
"""A name of the folder of a process that does not reveal its path."""
JAR_NAME: Final = "plantuml.jar"
DOT_NAME: Final = "dot"
FOLDER: Final = re.compile(rf"(?:{HERE}|/[^\s\"<>]*/{PREFIX}[^/\s\"<>]*)(?:/\.)*/?")
"""The folder of a process in a message."""
PNG: Final = b"\x89PNG"
COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
DENIED: Final = re.compile(r'access denied \("java\.\w+\.\w+" "([^"]*)"')
GREETING: Final = "@startuml\nA -> B\n@enduml"
"""What fails with this diagram is not the fault of anybody's diagram."""

POLICY: Final = """\
grant codeBase "file:{jar}" {{
  permission java.util.PropertyPermission "*", "read,write";
  permission java.lang.RuntimePermission "*";
  permission java.util.logging.LoggingPermission "control";
  permission java.io.FilePermission "{jar}", "read";
  permission java.io.FilePermission "{home}", "read";
  permission java.io.FilePermission "{home}/license.txt", "read";
  permission java.io.FilePermission "{here}", "read";
  permission java.io.FilePermission "{here}/{name}", "read";
  permission java.io.FilePermission "{here}/license.txt", "read";
  permission java.io.FilePermission "plantuml.skin", "read";
  permission java.io.FilePermission "{dot}", "read,execute";
}};
"""


def find_jar(stated: str | None) -> tuple[str, str] | str:
    """Return the java and the jar to use, or the reason why there is none."""
    jar = stated or DEBIAN
    if not os.path.isfile(jar):
        return f"there is no {jar}"
    java = shutil.which("java")
    return (java, os.path.abspath(jar)) if java else "there is no java"


class Jar:
    """PlantUML in Java."""

    name = "jar"
    forms: tuple[Form, ...] = ("svg", "png", "txt")
    draws_dark = False

    def __init__(self, java: str, jar: str, limits: Limits) -> None:
        self._java = java
        self._jar = jar
        self._limits = limits
        self._pools = {form: Pool(partial(self._start, form), limits.idle_s, max_uses=1) for form in FLAGS}
        self._places = DrawingPlaces(limits.processes, "signet-jar")
        self._works = False
        """Whether it has ever drawn anything."""

    async def draw(self, source: str, form: Form, *, dark: bool = False) -> bytes | DiagramError:  # noqa: ARG002 - it has no dark pictures
        """Return the picture of a diagram, or what is wrong with it."""
        refused = _refusal(source)
        if refused is not None:
            return refused
        drawn = await self._places.run(partial(self._draw, source, form))
        if not isinstance(drawn, DiagramError) and len(drawn) > MAX_PICTURE_BYTES:
            raise too_large(form, "make the diagram smaller")
        return drawn

    async def close(self) -> None:
        """Kill the processes."""
        for pool in self._pools.values():
            await asyncio.get_running_loop().run_in_executor(None, pool.close)

    def _start(self, form: str, folder: str) -> PipedProcess:
        # What a diagram learns of its process are properties of Java: they name the folder by a link.
        here = HERE if os.path.isdir(HERE) else folder
        heap = f"-Xmx{self._limits.memory_mb // 2}m"
        flags = ["-Djava.awt.headless=true", "-Dfile.encoding=UTF-8", "-XX:-UsePerfData", "-XX:+UseSerialGC", heap]
        flags += ["-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError", f"-Duser.home={here}", f"-Duser.dir={here}"]
        flags += ["-Duser.name=signet", "-DPLANTUML_SECURITY_PROFILE=SANDBOX", "-DPLANTUML_LIMIT_SIZE=16384"]
        flags += ["-Dos.version=", "-Djava.library.path="]
        dot = f"{here}/{DOT_NAME}"
        if _has_manager(self._java):
            policy = os.path.join(folder, "policy")
            if not os.path.exists(policy):
                with open(policy, "w", encoding="utf-8") as file:
                    places = {"home": os.path.dirname(self._jar), "here": here, "name": JAR_NAME}
                    file.write(POLICY.format(jar=self._jar, dot=dot, **places))
            flags += ["-Djava.security.manager", f"-Djava.security.policy=={here}/policy"]
        elif not _has_profile(self._jar):
            raise failed(f"no diagram can be kept from files with {self._jar} and {self._java}: use a newer jar")
        for name, path in ((JAR_NAME, self._jar), (DOT_NAME, shutil.which("dot") or "/usr/bin/dot")):
            with contextlib.suppress(FileExistsError):
                os.symlink(path, os.path.join(folder, name))
        command = [self._java, *flags, "-jar", f"{here}/{JAR_NAME}", "-pipe", FLAGS[form], "-charset", "UTF-8"]
        # SERVER_NAME: Graphviz opens no file for a server. PLANTUML_SECURITY_PROFILE: newer jars read it here too.
        environ = {"PLANTUML_SECURITY_PROFILE": "SANDBOX", "SERVER_NAME": "signet", "LC_ALL": "C.UTF-8"}
        environ["GRAPHVIZ_DOT"] = dot
        cpu_s = math.ceil(2 * (self._limits.timeout_s + START_S))
        limits = ProcessLimits(self._limits.memory_mb << 20, cpu_s)
        return PipedProcess(command, environ, cwd=folder, limits=limits)

    def _draw(self, source: str, form: Form, hold: KillHandle) -> bytes | DiagramError:
        """Return a picture that is no picture of an error: those can be read as SVG alone."""
        svg = self._use(source, "svg", hold)
        if isinstance(svg, DiagramError):
            return svg
        if svg.startswith(PNG):
            only = DiagramError(f"the PlantUML jar draws this kind of diagram as png alone, not as {form}")
            return svg if form == "png" else only
        # The comment at the end names the machine's Java and system.
        text = COMMENT.sub("", svg.decode(errors="replace"))
        if is_unsupported(text):
            return DiagramError("this PlantUML jar does not know this kind of diagram", unsupported=True)
        if lacks_graphviz(text):
            return DiagramError("the PlantUML jar needs Graphviz for this diagram: install graphviz", unsupported=True)
        error = find_error(text)
        if error is not None:
            return _in_plain_words(error)
        return without_unsafe_links(text).encode() if form == "svg" else self._use(source, form, hold)

    def _use(self, source: str, form: str, hold: KillHandle) -> bytes | DiagramError:
        """Return what one process draws."""
        try:
            picture, status = self._pools[form].use(partial(self._exchange, source), hold)
        except TimeoutError:
            raise too_slow(self._limits) from None
        except ChildEndedError:
            picture, status = b"", 1
        except ValueError:
            raise too_large(form, "make the diagram smaller") from None
        if _is_whole(picture, status):
            self._works = True
            return picture
        if status < 0 or status == OUT_OF_MEMORY:
            raise too_heavy(self._limits)
        if source == GREETING:
            raise failed(f"{self._jar} does not start; try it with {self._java} -jar")
        if not self._works:
            self._use(GREETING, "svg", hold)
        if FORMULA.match(source):
            return DiagramError("the PlantUML jar cannot draw this kind of diagram here", unsupported=True)
        return DiagramError("the diagram asks the PlantUML jar for something that is not allowed or not supported here")

    def _exchange(self, source: str, child: PipedProcess) -> tuple[bytes, int]:
        deadline = time.monotonic() + self._limits.timeout_s + START_S
        child.write(source.rstrip("\n").encode() + b"\n", deadline)
        return child.read_to_end(deadline, 2 * MAX_PICTURE_BYTES)


def _refusal(source: str) -> DiagramError | None:
    """Return what no diagram may have in its text."""
    for number, line in enumerate(source.splitlines()[1:-1], 2):
        if MARKS.match(line):
            return DiagramError("a diagram may not begin or end inside of another", number)
        if GETENV.search(line):
            return DiagramError("a diagram may not use %getenv", number)
    return None


def _is_whole(picture: bytes, status: int) -> bool:
    """Return whether a process has written all of its picture; the status of a picture of an error is not 0."""
    if picture.startswith(PNG):
        return b"IEND" in picture[-12:]
    return picture.rstrip().endswith(b"</svg>") or (status == 0 and bool(picture))


def _has_manager(java: str) -> bool:
    """Return whether a Java has a security manager: all of which it is not known that they have none."""
    release = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(java))), "release")
    try:
        with open(release, encoding="utf-8", errors="replace") as file:
            version = RELEASE.search(file.read())
    except OSError:
        return True
    return version is None or int(version[1]) < NO_MANAGER


def _has_profile(jar: str) -> bool:
    """Return whether a jar knows PlantUML's security profiles."""
    try:
        with zipfile.ZipFile(jar) as archive:
            return PROFILE in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def _in_plain_words(error: DiagramError) -> DiagramError:
    """Return the error without the names of Java's classes, where the security manager refused, and of our folder."""
    denied = DENIED.search(error.message)
    message = f"a diagram may not use {denied[1]}" if denied else error.message
    return msgspec.structs.replace(error, message=FOLDER.sub("", message))
