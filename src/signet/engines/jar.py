"""The jar: PlantUML in Java, for what the JavaScript engine lacks, in one warm process for each format.

A process is given one diagram after the other and writes a mark behind each picture. A diagram must never reach a file,
an address or a variable: PlantUML's own profile SANDBOX sees to it, and for a jar from before that profile, Java's
security manager with a policy that grants the jar to read itself.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from .picture import DiagramError, find_error
from .process import Child, ChildEndedError, Pool
from .renderer import MAX_PICTURE_BYTES, Form, Limits, failed, too_heavy, too_large, too_slow

__all__ = ["DEBIAN", "Jar", "find_jar"]

DEBIAN: Final = "/usr/share/plantuml/plantuml.jar"
FLAGS: Final[dict[str, str]] = {"svg": "-tsvg", "png": "-tpng", "txt": "-tutxt"}
START_S: Final = 30.0
"""How long the first picture of a process may take beyond its own time."""
PROFILE: Final = "net/sourceforge/plantuml/security/SecurityProfile.class"
MARKS: Final = re.compile(r"(?:\W|<[^<>]*>)*[@\\](?:start|end|pause|unpause|append)", re.ASCII)
"""A line with which PlantUML begins or ends a diagram: with one of them inside, pictures and diagrams would no longer
come in pairs."""
COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
DENIED: Final = re.compile(r'access denied \("java\.\w+\.\w+" "([^"]*)"')
GREETING: Final = "@startuml\nA -> B\n@enduml"
"""The first diagram of every process: what fails here is not the fault of anybody's diagram."""
NO_GRAPHVIZ: Final = ("Dot Executable", "Cannot find Graphviz", "Dot executable")

POLICY: Final = """\
grant codeBase "file:{jar}" {{
  permission java.util.PropertyPermission "*", "read,write";
  permission java.lang.RuntimePermission "*";
  permission java.io.FilePermission "{jar}", "read";
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
        self._mark = f"signet-{os.urandom(16).hex()}"
        self._pools = {form: Pool(partial(self._start, form), limits.idle_s) for form in FLAGS}
        self._threads = ThreadPoolExecutor(limits.processes, "signet-jar")

    async def draw(self, source: str, form: Form, *, dark: bool = False) -> bytes | DiagramError:  # noqa: ARG002 - it has no dark pictures
        """Return the picture of a diagram, or what is wrong with it."""
        lines = source.splitlines()
        for number, line in enumerate(lines[1:-1], 2):
            if MARKS.match(line):
                return DiagramError("a diagram may not begin or end inside of another", number)
        loop = asyncio.get_running_loop()
        svg = await loop.run_in_executor(self._threads, self._use, source, "svg")
        # The comment at the end names the machine's Java and system.
        text = COMMENT.sub("", svg.decode(errors="replace"))
        error = find_error(text) or _missing_graphviz(text)
        if error is not None:
            return _in_plain_words(error)
        picture = text.encode() if form == "svg" else await loop.run_in_executor(self._threads, self._use, source, form)
        if len(picture) > MAX_PICTURE_BYTES:
            raise too_large(form, "make the diagram smaller")
        return picture

    async def close(self) -> None:
        """Kill the processes."""
        for pool in self._pools.values():
            await asyncio.get_running_loop().run_in_executor(None, pool.close)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _start(self, form: str, folder: str) -> Child:
        heap = f"-Xmx{self._limits.memory_mb // 2}m"
        flags = ["-Djava.awt.headless=true", "-Dfile.encoding=UTF-8", "-XX:-UsePerfData", "-XX:+UseSerialGC", heap]
        flags += ["-XX:TieredStopAtLevel=1", "-DPLANTUML_SECURITY_PROFILE=SANDBOX", "-DPLANTUML_LIMIT_SIZE=16384"]
        dot = shutil.which("dot") or "/usr/bin/dot"
        if not _has_profile(self._jar):
            policy = os.path.join(folder, "policy")
            with open(policy, "w", encoding="utf-8") as file:
                file.write(POLICY.format(jar=self._jar, dot=dot))
            flags += ["-Djava.security.manager", f"-Djava.security.policy=={policy}"]
        command = [self._java, *flags, "-jar", self._jar, "-pipe", FLAGS[form], "-charset", "UTF-8"]
        command += ["-pipedelimitor", self._mark]
        # SERVER_NAME: Graphviz opens no file for a server. PLANTUML_SECURITY_PROFILE: newer jars read it here too.
        environ = {"PLANTUML_SECURITY_PROFILE": "SANDBOX", "SERVER_NAME": "signet", "LC_ALL": "C.UTF-8"}
        environ["GRAPHVIZ_DOT"] = dot
        return Child(command, environ, folder, self._limits.memory_mb << 20)

    def _use(self, source: str, form: str) -> bytes:
        try:
            return self._pools[form].use(partial(self._draw, source))
        except TimeoutError:
            raise too_slow(self._limits) from None
        except ChildEndedError:
            raise too_heavy(self._limits) from None
        except ValueError:
            raise too_large(form, "make the diagram smaller") from None

    def _draw(self, source: str, child: Child) -> bytes:
        if child.uses == 1:
            try:
                self._exchange(GREETING, child, START_S)
            except (TimeoutError, ChildEndedError):
                raise failed(f"{self._jar} does not start; try it with {self._java} -jar") from None
        return self._exchange(source, child, self._limits.timeout_s)

    def _exchange(self, source: str, child: Child, timeout_s: float) -> bytes:
        deadline = time.monotonic() + timeout_s
        child.write(source.rstrip("\n").encode() + b"\n", deadline)
        return child.read_until(self._mark.encode(), deadline, 2 * MAX_PICTURE_BYTES).lstrip(b"\r\n")


def _has_profile(jar: str) -> bool:
    """Return whether a jar knows PlantUML's security profiles."""
    try:
        with zipfile.ZipFile(jar) as archive:
            return PROFILE in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def _in_plain_words(error: DiagramError) -> DiagramError:
    """Return the error for what the security manager has refused, without the names of Java's classes."""
    denied = DENIED.search(error.message)
    return DiagramError(f"a diagram may not use {denied[1]}", error.line) if denied else error


def _missing_graphviz(svg: str) -> DiagramError | None:
    """Return the error of a picture that says that Graphviz is not there."""
    if any(f">{words}" in svg for words in NO_GRAPHVIZ):
        return DiagramError("the PlantUML jar needs Graphviz for this kind of diagram: install graphviz")
    return None
