"""The page: one HTML file with everything in it, no script."""

import html
import io
import os
import re

from . import profile, table, words
from .draw import kind_of, style, verdict

FOLDER = os.path.dirname(os.path.abspath(__file__))
PNG_DPI = 110
ROWS_OPEN = 24  # a longer table is folded
VARIABLES = {style.PAPER: "paper", style.INK: "ink", style.MUTED: "muted", style.GRID: "grid", style.BAND: "band",
             **{colour: "s%d" % at for at, colour in enumerate(style.SERIES)}}


def escape(text):
    return html.escape(str(text))


def anchor(experiment, at):
    return "e%d-%s" % (at, re.sub(r"[^a-z0-9]+", "-", experiment.name.lower()))


def alternative(experiment):
    """What a figure shows, for those who do not see it."""
    return "%s %s Members: %s. %d row%s; all numbers are in the table below." % (
        experiment.question, verdict.headline(experiment), words.listing(experiment.members), len(experiment.contests),
        "s"[:len(experiment.contests) != 1])


def svg(experiment, prefix):
    """The drawing, with the style sheet's colours, and names that no other drawing of the page has."""
    out = io.StringIO()
    kind_of(experiment).draw(experiment, verdict.texts(experiment, is_alone=False)).savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue()
    text = text[text.index("<svg"):]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(id="|href="#|url\(#)', lambda match: match.group(1) + prefix + "-", text)
    text = re.sub(r"#[0-9a-f]{6}\b", lambda match: "var(--%s)" % VARIABLES[match.group(0)]
                  if match.group(0) in VARIABLES else match.group(0), text)
    text = re.sub(r"(-?\d+\.\d{2})\d+", r"\1", text)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    return re.sub(r"<svg", '<svg role="img" aria-label="%s"' % escape(alternative(experiment)), text, count=1)


def png(experiment, file):
    """The drawing alone: with the question, and the answer as its title, over it."""
    kind_of(experiment).draw(experiment, verdict.texts(experiment, is_alone=True)).savefig(file, dpi=PNG_DPI, facecolor=style.PAPER)


def html_table(experiment):
    head = "".join("<th scope=col>%s</th>" % escape(cell) for cell in table.heading(experiment))
    lines = table.lines(experiment)
    body = "".join("<tr>%s</tr>\n" % "".join("<td>%s</td>" % escape(cell) for cell in line) for line in lines)
    text = '<div class=table tabindex=0 role=region aria-label="The numbers"><table><thead><tr>%s</tr></thead>' \
           "<tbody>\n%s</tbody></table></div>" % (head, body)
    return "<details%s><summary>The numbers (%d rows)</summary>%s</details>\n" % (
        " open" if len(lines) <= ROWS_OPEN else "", len(lines), text)


def html_profile(experiment):
    """Where the time goes, of contests whose samples have phases."""
    lines, sentences = [], []
    for contest in experiment.contests:
        samples = {member.name: [one["ranks"] for one in member.cell.samples] for member in contest.members}
        profiles = {member.name: [one["phases"] for one in member.cell.samples if one.get("phases")]
                    for member in contest.members}
        for name, found in profiles.items():
            lines += [[contest.head["collective"], name] + row for row in profile.rows(found)]
        if any(profiles.values()):
            sentences += ["%s: %s." % (contest.head["collective"], text) for text in profile.bounds_words(samples, profiles)]
    if not lines:
        return ""
    head = "".join("<th scope=col>%s</th>" % escape(cell) for cell in ["what", "who"] + profile.HEADING)
    body = "".join("<tr>%s</tr>\n" % "".join("<td>%s</td>" % escape(cell) for cell in line) for line in lines)
    return '<details open><summary>Where the time goes</summary><div class=table tabindex=0 role=region aria-label="Where the ' \
           'time goes"><table><thead><tr>%s</tr></thead><tbody>\n%s</tbody></table></div>%s</details>\n' % (
               head, body, "".join("<p class=about>%s</p>\n" % escape(text) for text in sentences))


def repetitions_words(experiment):
    low, high = experiment.repetitions()
    statistic = experiment.statistic
    ranks = "all ranks" if experiment.of_all_ranks else "the slowest rank"
    text = "A mark is the %s of %s repetitions (of each, %s)" % (
        statistic, high if low == high else "%d to %d" % (low, high), ranks)
    return text + ("; the line through it is its 95 % interval" if statistic == "median" else "") + \
        "; faint dots are single repetitions, a triangle at an edge stands for those beyond it. "


def about(run):
    """Command, machine and date."""
    head = run.head
    weft, host = head["weft"], head["host"]
    facts = [("date", head["date"]),
             ("machine", "%s, %s CPUs, Linux %s" % (host.get("cpu", "unknown"), host.get("cpus", "?"),
                                                    host.get("kernel", "?"))),
             ("Weft", " ".join(str(weft[key]) for key in ("version", "commit", "build_type", "compiler")
                               if weft.get(key)))]
    if head.get("mpi"):
        facts.append(("MPI", head["mpi"]))
    if head.get("timer"):
        facts.append(("timer", "%s, a reading takes %s ns" % (head["timer"].get("name"),
                                                              head["timer"].get("cost_ns"))))
    if head.get("seed") is not None:
        facts.append(("seed", head["seed"]))
    if head.get("settings"):
        facts.append(("settings", " ".join("%s=%s" % pair for pair in head["settings"].items())))
    facts.append(("samples", os.path.basename(run.file)))
    return "<pre>%s</pre><p class=about>%s</p>\n" % (
        escape(head["command"]), "; ".join("%s: %s" % (escape(name), escape(value)) for name, value in facts))


def switch_words(line):
    """What the emulated links' switch has cost and added."""
    parts = []
    if line.get("bias_us") is not None:
        parts.append("adds %.0f us of its own to each message" % line["bias_us"])
    if line.get("late_max_us") is not None:
        parts.append("was at most %.0f us late" % line["late_max_us"])
    if line.get("cpu_s") is not None and line.get("bytes"):
        parts.append("used %.2f s of CPU for %.2f GB (%.2f s a GB)" %
                     (line["cpu_s"], line["bytes"] / 1e9, line["cpu_s"] / (line["bytes"] / 1e9)))
    text = "The links' delay is made by a switch in user space, which " + words.listing(parts) if parts else ""
    return text + ("; congestion control: %s." % line["congestion"] if line.get("congestion") else ".") if text else ""


def question(experiment):
    """With what its rows have in common, where the answers are in several figures, and with the MPIs."""
    mpis = words.listing(experiment.mpis)
    beside = "beside " + mpis if mpis not in experiment.part else ""
    where = "; ".join(filter(None, (experiment.part, beside)))
    return experiment.question + (" (%s)" % where if where else "")


def section(experiment, name):
    title = verdict.headline(experiment) if experiment.contests else "Missing"
    parts = ['<section id="%s"><h2><span class=question>%s</span>%s</h2>\n' % (
        name, escape(question(experiment)), escape(title))]
    if experiment.interruption:
        parts.append("<p class=warn>%s</p>\n" % escape(experiment.interruption))
    for line in experiment.missing:
        parts.append("<p class=warn>Missing: %s</p>\n" % escape(missing_words(line)))
    if experiment.contests:
        is_of_rows = experiment.role not in ("verdict", "model")
        how = kind_of(experiment).HOW + (" " + repetitions_words(experiment)) * is_of_rows
        parts.append("<figure>%s<figcaption><p class=how>%s</p></figcaption></figure>\n" % (svg(experiment, name), escape(how)))
        if is_of_rows:
            parts += [html_table(experiment), html_profile(experiment)]
    elif not experiment.missing:
        parts.append("<p class=warn>Missing: nothing of it was measured.</p>\n")
    parts += ["<p class=about>%s</p>\n" % escape(words_) for words_ in map(switch_words, experiment.switches) if words_]
    parts += ["<p class=about>Simulated by <code>%s</code></p>\n" % escape(command)
              for command in dict.fromkeys(line["command"] for line in experiment.simulated + experiment.simulated_alone)]
    return "".join(parts) + "".join(dict.fromkeys(map(about, experiment.runs))) + "</section>\n"


def missing_words(line):
    who = ": " + line["member"] if line.get("member") else ""
    return "%s%s (%s)" % (line["scenario"], who, line["why"])


def contents(experiments):
    """What each figure says, with the way to it; what is missing by name."""
    lines = []
    for name, experiment in experiments:
        text = verdict.headline(experiment) if experiment.contests else "missing"
        lines.append('<li><a href="#%s">%s</a><br>%s</li>\n' % (name, escape(question(experiment)), escape(text)))
    missing = list(dict.fromkeys(missing_words(line) for _, experiment in experiments for line in experiment.missing))
    text = "<nav><ol>\n%s</ol></nav>\n" % "".join(lines)
    if missing:
        text += "<p class=warn>Missing:</p><ul>%s</ul>\n" % "".join("<li>%s</li>" % escape(one) for one in missing)
    return text


GLOSSARY = (
    ("a point", "an operation of one size, with so many ranks in one place, of one algorithm and lateness, beside one MPI"),
    ("A/A", "one member is measured twice, in turns with the others; how much both differ is chance"),
    ("decided", "the 95 % interval of a quotient of two members excludes 1, by more than A/A does; or all of it is within 10 % of 1: they "
     "are equal. Shares that are hidden are compared in points. A hollow mark is not decided, and no title counts it"),
    ("counts", "in a figure of verdicts: a point's interval contains no bound of what was asked, and A/A is not larger than what was asked for"),
    ("a quotient", "taken by repetition, where members took turns; then the median"),
    ("Weft", "a library of nonblocking collectives, which progress while the program computes; Weft alone is its default engine"))


def glossary():
    return "<details><summary>Words of the figures</summary><dl>%s</dl></details>\n" % "".join(
        "<dt>%s</dt><dd>%s</dd>" % (escape(word), escape(text)) for word, text in GLOSSARY)


def page(experiments):
    with open(os.path.join(FOLDER, "page.css"), encoding="utf-8") as file:
        style_sheet = file.read()
    named = [(anchor(experiment, at), experiment) for at, experiment in enumerate(experiments, 1)]
    interruptions = list(dict.fromkeys("%s: %s" % (os.path.basename(one.run.file), one.interruption)
                                       for one in experiments if one.interruption))
    return (
        "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width, initial-scale=1"><title>Measurements of Weft</title>\n'
        "<style>\n%s</style></head><body>\n<h1>Measurements of Weft</h1>\n%s%s%s%s</body></html>\n" %
        (style_sheet, "".join("<p class=warn>%s</p>\n" % escape(text) for text in interruptions), glossary(), contents(named),
         "".join(section(experiment, name) for name, experiment in named)))
