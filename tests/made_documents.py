"""Small PDF, DOCX and EPUB files, made here."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import docx

HTML = """<!doctype html><html><head><title>Install - X</title><style>p{}</style></head><body>
<nav><ul><li><a href="/">Home</a></li></ul></nav><header><a href="/">X</a></header>
<main><h1>Install<a class="headerlink" href="#i">¶</a></h1>
<p>Run <code>pip install x</code> <b>now</b>, it&apos;s small.</p>
<div class="highlight-python notranslate"><pre><span>import</span> x
x.run()
</pre></div>
<h2>Options</h2><table><tr><th>name<th>meaning<tr><td>a<td>two words</table>
<ul><li>one <ul><li>inner</ul><li><p>two</p></ul><dl><dt>term<dd>definition</dl>
<script>alert("x")</script><p hidden>secret</p></main>
<aside>related pages</aside><footer>imprint</footer></body></html>
"""


FONTS = (b"Helvetica", b"Helvetica-Bold", b"Courier")


class Placed(NamedTuple):
    """A text at a place of a page of 612 times 792 points, counted from below."""

    text: str
    x: int
    y: int
    size: int = 10
    bold: bool = False
    mono: bool = False


def shown(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def pdf(*pages: str | Sequence[Placed], image: bool = False) -> bytes:
    """A PDF with a line of text for each line of a page; with `image`, a picture on each, too."""
    parts = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    kids = []
    for page in pages:
        if isinstance(page, str):
            lines = "".join(f"({shown(line)}) Tj 0 -14 Td\n" for line in page.split("\n"))
            lines = f"BT /F1 12 Tf 72 720 Td\n{lines}ET"
        else:
            lines = "".join(
                f"BT /F{3 if each.mono else 1 + each.bold} {each.size} Tf "
                f"1 0 0 1 {each.x} {each.y} Tm ({shown(each.text)}) Tj ET\n"
                for each in page
            )
        stream = lines.encode("latin-1")
        content = len(parts) + 2
        picture = b"/XObject << /I %d 0 R >>" % (content + 1) if image else b""
        kids.append(b"%d 0 R" % (content - 1))
        font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
        parts.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 %s /F2 %s /F3 %s >> %s >> >>"
            % (content, *(font.replace(b"Helvetica", name) for name in FONTS), picture)
        )
        parts.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        if image:
            parts.append(
                b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray "
                b"/BitsPerComponent 8 /Length 1 >>\nstream\nx\nendstream"
            )
    parts[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    out = io.BytesIO(b"%PDF-1.4\n")
    out.seek(0, io.SEEK_END)
    places = []
    for number, part in enumerate(parts, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, part))
    table = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(parts) + 1))
    out.writelines(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    out.write(end % (len(parts) + 1, table))
    return out.getvalue()


def word_document() -> bytes:
    """A DOCX with a title, headings, a list, a table and code."""
    document = docx.Document()
    document.add_heading("The guide", 0)
    document.add_heading("Install", 1)
    document.add_paragraph("Run the installer.")
    document.add_paragraph("first", "List Bullet")
    document.add_paragraph("second", "List Bullet")
    document.add_heading("Options", 2)
    table = document.add_table(2, 2)
    for number, text in enumerate(("name", "meaning", "a", "two words")):
        table.rows[number // 2].cells[number % 2].text = text
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


RELATIONS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def relations(targets: Sequence[str]) -> str:
    entries = (f'<Relationship Id="r{n}" Target="{each}"/>' for n, each in enumerate(targets))
    return f"{RELATIONS}{''.join(entries)}</Relationships>"


def workbook(sheets: Mapping[str, Sequence[Sequence[str]]], styles: str = "<s/>") -> bytes:
    """An XLSX; a cell that begins with `<` is the XML inside its element, else its text."""
    parts: dict[str, str | bytes] = {"xl/styles.xml": styles}
    for number, rows in enumerate(sheets.values()):
        cells = (
            "".join(
                f"<c {cell[1:]}</c>"
                if cell.startswith("<")
                else f'<c t="inlineStr"><is><t>{cell}</t></is></c>'
                for cell in row
            )
            for row in rows
        )
        data = "".join(f"<row>{row}</row>" for row in cells)
        parts[f"xl/sheet{number}.xml"] = f"<w><sheetData>{data}</sheetData></w>"
    names = "".join(f'<sheet name="{n}" r:id="r{i}"/>' for i, n in enumerate(sheets))
    parts["xl/workbook.xml"] = f'<w xmlns:r="{OFFICE}"><sheets>{names}</sheets></w>'
    targets = [f"sheet{number}.xml" for number in range(len(sheets))]
    return zipped({**parts, "xl/_rels/workbook.xml.rels": relations(targets)})


def slides(shown: Sequence[tuple[str, Sequence[str]]], notes: str = "") -> bytes:
    """A PPTX of slides, each a title and its paragraphs; the first one has notes."""
    parts: dict[str, str | bytes] = {}
    for number, (title, paragraphs) in enumerate(shown):
        body = "".join(f"<p><r><t>{each}</t></r></p>" for each in paragraphs)
        heading = f"<sp><ph type='title'/><p><t>{title}</t></p></sp>"
        parts[f"ppt/slides/{number}.xml"] = f"<s><spTree><sp>{body}</sp>{heading}</spTree></s>"
    if notes:
        parts["ppt/notesSlides/0.xml"] = f"<s><spTree><sp><p><t>{notes}</t></p></sp></spTree></s>"
        parts["ppt/slides/_rels/0.xml.rels"] = relations(["../notesSlides/0.xml"])
    ids = "".join(f'<sldId r:id="r{number}"/>' for number in range(len(shown)))
    parts["ppt/presentation.xml"] = f'<p xmlns:r="{OFFICE}">{ids}</p>'
    targets = [f"slides/{number}.xml" for number in range(len(shown))]
    return zipped({**parts, "ppt/_rels/presentation.xml.rels": relations(targets)})


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    """A ZIP archive of these parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


EPUB_PARTS = {
    "META-INF/container.xml": '<container xmlns="urn:x"><rootfiles>'
    '<rootfile full-path="OPS/book.opf"/></rootfiles></container>',
    "OPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>A book</dc:title></metadata>'
    '<manifest><item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    '<item id="b" href="two.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="a" href="one.xhtml" media-type="application/xhtml+xml"/></manifest>'
    '<spine><itemref idref="n"/><itemref idref="a"/><itemref idref="b"/></spine></package>',
    "OPS/nav.xhtml": "<html><body><nav><ol><li>One</li></ol></nav></body></html>",
    "OPS/one.xhtml": "<html><body><h1>One</h1><p>The first chapter.</p></body></html>",
    "OPS/two.xhtml": "<html><body><h1>Two</h1><p>The second chapter.</p></body></html>",
}


def epub(**others: str) -> bytes:
    """A book of two chapters, listed in another order than read."""
    return zipped({**EPUB_PARTS, **others})
