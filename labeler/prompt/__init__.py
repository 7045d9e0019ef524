"""Prompts: files with a front matter and two sections, known by the hash of their content."""

from labeler.prompt.read import (
    checked_prompt,
    find_prompt,
    prompt_as_it_is,
    prompt_files,
    prompt_source,
    read_prompt,
)
from labeler.prompt.template import (
    OPTIONAL,
    PLACEHOLDERS,
    FrontMatter,
    Prompt,
    grade_schema,
    numbered_schema,
    object_schema,
    schema_of,
)

__all__ = [
    "OPTIONAL",
    "PLACEHOLDERS",
    "FrontMatter",
    "Prompt",
    "checked_prompt",
    "find_prompt",
    "grade_schema",
    "numbered_schema",
    "object_schema",
    "prompt_as_it_is",
    "prompt_files",
    "prompt_source",
    "read_prompt",
    "schema_of",
]
