"""The last line of a run: each test is counted once, and what fails outside of tests is not lost."""

import io
import unittest

from tests.running import Result, closing, run


def counted(*cases):
    """The counts of a run of the tests of some classes."""
    loader = unittest.TestLoader()
    result = run(unittest.TestSuite([loader.loadTestsFromTestCase(case) for case in cases]), io.StringIO())
    return result.counts["passed"], result.counts["failed"], result.counts["skipped"]


class Subtests(unittest.TestCase):
    """Its tests have names that no loader looks for: they fail where they should."""

    def some_fail(self):
        for number in range(5):
            with self.subTest(number=number):
                self.assertLess(number, 2)

    def one_breaks_and_then_the_test(self):
        with self.subTest():
            raise RuntimeError
        self.fail()

    def some_are_skipped(self):
        for number in range(3):
            with self.subTest(number=number):
                if number:
                    self.skipTest("not this one")

    def one_is_skipped_and_one_fails(self):
        with self.subTest():
            self.skipTest("not this one")
        with self.subTest():
            self.fail()

    def all_pass(self):
        with self.subTest():
            pass


class Counting(unittest.TestCase):
    def test_subtests(self):
        for name, counts in (("some_fail", (0, 1, 0)), ("one_breaks_and_then_the_test", (0, 1, 0)),
                             ("some_are_skipped", (1, 0, 0)), ("one_is_skipped_and_one_fails", (0, 1, 0)),
                             ("all_pass", (1, 0, 0))):
            result = run(unittest.TestSuite([Subtests(name)]), io.StringIO())
            self.assertEqual(tuple(result.counts.values()), counts, name)

    def test_every_outcome_of_a_test(self):
        class Outcomes(unittest.TestCase):
            def test_passes(self):
                pass

            def test_fails(self):
                self.fail()

            def test_breaks(self):
                raise RuntimeError

            def test_skips(self):
                self.skipTest("why")

            @unittest.skip("why")
            def test_is_skipped(self):
                pass

            @unittest.expectedFailure
            def test_fails_as_expected(self):
                self.fail()

            @unittest.expectedFailure
            def test_passes_unexpectedly(self):
                pass

        self.assertEqual(counted(Outcomes), (2, 3, 2))

    def test_what_surrounds_the_tests(self):
        class NoClass(unittest.TestCase):
            @classmethod
            def setUpClass(cls):
                raise RuntimeError

            def test_never_run(self):
                pass

        class SkippedClass(NoClass):
            @classmethod
            def setUpClass(cls):
                raise unittest.SkipTest("why")

        class Torn(unittest.TestCase):
            def tearDown(self):
                raise RuntimeError

            def test_passes_before(self):
                pass

            def test_fails_before(self):
                self.fail()

            def test_skips_before(self):
                self.skipTest("why")

        self.assertEqual(counted(NoClass), (0, 1, 0))
        self.assertEqual(counted(SkippedClass), (0, 0, 1))
        self.assertEqual(counted(Torn), (0, 3, 0))
        self.assertEqual(counted(NoClass, SkippedClass, Torn), (0, 4, 1))

    def test_a_module_that_is_not_there_has_failed(self):
        suite = unittest.TestLoader().loadTestsFromNames(["tests.test_of_nothing"])
        self.assertEqual(tuple(run(suite, io.StringIO()).counts.values()), (0, 1, 0))

    def test_the_closing_line(self):
        result = Result(io.StringIO(), False, 0)
        self.assertEqual(closing(result.counts), "0 passed, 0 failed")
        result.counts.update(passed=7, skipped=1)
        self.assertEqual(closing(result.counts), "7 passed, 0 failed, 1 skipped")


if __name__ == "__main__":
    unittest.main()
