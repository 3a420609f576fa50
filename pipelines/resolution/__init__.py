"""Entity resolution: cluster name variants, and rewrite mentions and relations."""
