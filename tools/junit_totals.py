#!/usr/bin/env python3
"""Prints "passed failed skipped" of a JUnit file, as ctest and pytest write it.

usage: junit_totals.py FILE
"""

import sys
import xml.etree.ElementTree as ElementTree


def totals(path: str) -> tuple[int, int, int]:
    passed = failed = skipped = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
            failed += 1
        elif case.find("skipped") is not None or case.get("status") in ("disabled", "notrun"):
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


if __name__ == "__main__":
    print(*totals(sys.argv[1]))
