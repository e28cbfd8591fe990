"""`python -m autograder demo | release | personal | rubrics | grade`: what `make` calls, with options and exit codes.

nbgrader takes seconds to import, so the commands import it only when they run: `--help` answers at once.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from autograder.settings import ROOT, Course, CourseError, prepare_environment

DONE, REFUSED, SOME_NOT_GRADED = 0, 1, 3
EXIT_CODES = """exit codes:
  0  done
  1  nothing was done, or the result is not as it must be; the reason is printed
  2  wrong command line
  3  graded, but some submissions could not be; they are listed with the reason
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Returns the exit code."""
    options = _parser().parse_args(arguments)
    prepare_environment(ROOT)
    try:
        code: int = options.command(Course(ROOT), options)
    except CourseError as error:
        print(f"\n{error}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        print("\nStopped. Nothing is lost: run the same command again to go on.", file=sys.stderr)
        return REFUSED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m autograder",
        description="Release the course's notebooks and grade what students hand in.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    demo = commands.add_parser("demo", help="the whole way with four sample students, in autograder/demo/")
    demo.add_argument("chapters", nargs="*", metavar="chapter", help="these chapters; without one, the first")
    demo.set_defaults(command=_demo)
    release = commands.add_parser("release", help="make release/ from source/ and tell the gradebook")
    release.add_argument(
        "--update-ids",
        action="store_true",
        help="accept changed graded cells or points and write them to autograder/grade_ids.json",
    )
    release.set_defaults(command=_release)
    personal = commands.add_parser(
        "personal", help="notebooks with numbers of their own for these students, in autograder/personal/"
    )
    personal.add_argument("students", nargs="*", metavar="ID", help="names of their folders in autograder/submitted/")
    personal.add_argument("--roster", type=Path, metavar="FILE", help="a text file with one ID a line")
    personal.set_defaults(command=_personal)
    rubrics = commands.add_parser("rubrics", help="pages for those who mark written answers, in autograder/rubrics/")
    rubrics.set_defaults(command=_rubrics)
    grade = commands.add_parser("grade", help="grade what is new or changed in autograder/submitted/")
    grade.add_argument("chapters", nargs="*", metavar="chapter", help="only these chapters")
    grade.add_argument("--student", metavar="ID", help="only this student")
    grade.add_argument("--force", action="store_true", help="grade unchanged submissions again, too")
    grade.add_argument("--workers", type=int, default=0, metavar="N", help="processes; without it, one per processor")
    grade.add_argument("--scheduler", default="", metavar="tcp://HOST:PORT", help="run the notebooks on a Dask cluster")
    grade.add_argument(
        "--without-sandbox",
        action="store_true",
        help="run the notebooks with your own rights where there is no sandbox: only for people you trust",
    )
    grade.set_defaults(command=_grade)
    return parser


def _say(text: str) -> None:
    print(text, flush=True)


def _demo(course: Course, options: argparse.Namespace) -> int:
    from autograder.demo import demo

    start = time.perf_counter()
    demo(course, _say, options.chapters)
    _say(f"Done in {time.perf_counter() - start:.0f} s.")
    return DONE


def _release(course: Course, options: argparse.Namespace) -> int:
    from autograder.release import build_release

    changed = build_release(course, update_ids=options.update_ids)
    _say(f"release/ {'was written anew' if changed else 'is current'}: {', '.join(course.chapters())}.")
    return DONE


def _personal(course: Course, options: argparse.Namespace) -> int:
    from autograder.personal import personal_folder, personal_release
    from autograder.variants import make_secret

    students = list(options.students)
    if options.roster:
        try:
            students += options.roster.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise CourseError(
                f"cannot read {options.roster}: {error}; expected a text file with one ID a line"
            ) from error
    students = [student.strip() for student in students if student.strip()]
    if not students:
        raise CourseError("whose notebooks? Name students, or a file of them with --roster")
    _say(
        f"The numbers follow from the secret in {make_secret(course).relative_to(course.root)}: keep it with the marks."
    )
    count = personal_release(course, students, _say)
    _say(f"{count} notebooks in {personal_folder(course).relative_to(course.root)}/<student>/<chapter>/.")
    return DONE


def _rubrics(course: Course, options: argparse.Namespace) -> int:
    from autograder.rubrics import rubric_problems, write_rubrics

    if problems := list(rubric_problems(course)):
        raise CourseError("\n".join(problems))
    for page in write_rubrics(course):
        _say(str(page.relative_to(course.root)))
    return DONE


def _grade(course: Course, options: argparse.Namespace) -> int:
    from autograder.grade import How, grade
    from autograder.report import build_report, table

    how = How(
        force=options.force,
        sandboxed=not options.without_sandbox,
        workers=options.workers,
        scheduler=options.scheduler,
    )
    outcomes = grade(course, _say, chapters=options.chapters or None, student=options.student, how=how)
    for chapter in sorted({outcome.chapter for outcome in outcomes}):
        failed = frozenset(o.student for o in outcomes if o.chapter == chapter and o.state == "failed")
        _say("\n" + table(course, chapter, failed))
    _say(f"\nFeedback for students: {course.feedback.relative_to(course.root)}/<student>/<chapter>/<chapter>.html")
    _say(f"Report, flags and exports: {build_report(course).relative_to(course.root)}")
    if flagged := sum(outcome.flagged for outcome in outcomes):
        _say(f"\n{flagged} things to look at; the report says which and why.")
    failures = [outcome for outcome in outcomes if outcome.state == "failed"]
    if failures:
        _say("\nNot graded, please look at these:")
    for outcome in failures:
        _say(f"  {outcome.chapter} / {outcome.student}: {outcome.reason}")
    return SOME_NOT_GRADED if failures else DONE


if __name__ == "__main__":
    sys.exit(main())
