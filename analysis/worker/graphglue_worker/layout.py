"""Python expressions over one line or several, laid out as formatters do."""

from dataclasses import dataclass


@dataclass
class Group:
    """Something in brackets.  Over several lines each item has its own, with a comma behind it."""

    head: str
    items: "list[Node]"
    tail: str
    pair: bool = False  # a tuple: its only item has a comma behind it also on one line
    bare: "tuple[str, str] | None" = None  # head and tail on one line, where they are others


Node = str | Group


def flat(node: Node) -> str:
    """On one line."""
    if isinstance(node, str):
        return node
    head, tail = node.bare or (node.head, node.tail)
    return f"{head}{', '.join(map(flat, node.items))}{',' if node.pair and len(node.items) == 1 else ''}{tail}"


def before(text: str, node: Node) -> Node:
    """With something in front, such as ``name=``."""
    if isinstance(node, str):
        return text + node
    return Group(text + node.head, node.items, node.tail, node.pair)


def behind(node: Node, text: str) -> Node:
    """With something behind, such as ``.eval()``."""
    if isinstance(node, str):
        return node + text
    return Group(node.head, node.items, node.tail + text, node.pair)


def lines(node: Node, width: int, indent: str, unit: str, ending: str = "") -> list[str]:
    """Over as few lines as fit the width."""
    whole = f"{indent}{flat(node)}{ending}"
    if isinstance(node, str) or not node.items or len(whole.expandtabs(4)) <= width:
        return [whole]
    inner = [line for item in node.items for line in lines(item, width, indent + unit, unit, ",")]
    return [indent + node.head, *inner, indent + node.tail + ending]
