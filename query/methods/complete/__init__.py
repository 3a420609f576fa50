"""Complete answers: a set is enumerated, filtered and computed with, instead of ranked."""
