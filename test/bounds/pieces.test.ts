/**
 * Pieces of three change no answer: laws that hold whatever the bounds are run with those of
 * `bounds.json`. Then a few rows are many pieces. The first five are about the bounds themselves.
 */
import './batches.js?bounds'
import './growing.js?bounds'
import './limits.js?bounds'
import './listed-values.js?bounds'
import './recounted-hours.js?bounds'
import '../merges/merges.test.js?bounds'
import '../orders/draining.test.js?bounds'
import '../orders/hits.test.js?bounds'
import '../orders/importing.test.js?bounds'
import '../readers/recount.test.js?bounds'
import '../../src/activity/retention.test.js?bounds'
import '../../src/hits/batched-counts.test.js?bounds'
import '../../src/wide-cache/ledger/retention.test.js?bounds'
