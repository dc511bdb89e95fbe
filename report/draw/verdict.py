"""What a figure says, in one sentence."""

from . import kind_of


def sentence(experiment):
    """That of its drawing, from the undisturbed rows; none if most rows are disturbed."""
    rows, good = len(experiment.contests), len(experiment.undisturbed)
    if 2 * (rows - good) > rows:
        return "No conclusion: %s (%s)." % (
            "the only row is disturbed" if rows == 1 else "%d of %d rows are disturbed" % (rows - good, rows),
            first_reason(experiment))
    text = kind_of(experiment).sentence(experiment)
    if text.split(" ")[0] not in experiment.members:
        text = text[0].upper() + text[1:]
    if good < rows:
        text += " (Without %d disturbed row%s of %d.)" % (rows - good, "s"[:rows - good != 1], rows)
    return text


def first_reason(experiment):
    reasons = [contest.disturbed for contest in experiment.contests if contest.disturbed]
    return "for example, " + reasons[0] if len(reasons) > 1 else reasons[0]
