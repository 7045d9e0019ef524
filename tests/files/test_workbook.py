"""A workbook that is written: text is text, whatever it looks like, and numbers stay numbers."""

import io
import zipfile

import numpy as np

from labeler.files.archives import write_workbook


def test_a_text_that_looks_like_a_formula_is_none() -> None:
    out = io.BytesIO()
    assert write_workbook(out, [["=1+1", "@SUM(A1)", "<f>1</f>", np.float64(0.5), 3]]) == 1
    with zipfile.ZipFile(out) as archive:
        sheet = archive.read("xl/sheet1.xml").decode()
    assert "<f>" not in sheet
    assert sheet.count('t="inlineStr"') == 3
    assert "<v>0.5</v>" in sheet
    assert "<v>3</v>" in sheet
