// SPDX-License-Identifier: Apache-2.0
// The ranking of search results: the values of Sphinx, and corrections for the kind of the page.
// docs/conf.py has the keywords of pages.
const DEVELOPER_PAGES =
  /^(CHANGELOG|CONTRIBUTING|SECURITY|csrc\/|tests\/|docs\/(architecture|development|gpu|invariants)$)/;

var Scorer = {
  score: ([page, title, anchor, description, score, file, kind]) => {
    if (DEVELOPER_PAGES.test(page)) return score - 20;
    if (page.startsWith("docs/api/cpp")) return score - 6;
    if (kind === "text") {
      const query = new URLSearchParams(location.search).get("q").toLowerCase();
      const words = splitQuery(query).filter((word) => title.toLowerCase().includes(word));
      return score + 2 * words.length;
    }
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
