package lang

import (
	"strconv"
	"strings"
)

// maxAccepted is the number of entries of Accept-Language that are read.
const maxAccepted = 16

// Choose returns the language for a visitor: the one with the chosen tag, else the one that
// accepted, a header Accept-Language, prefers; English if there is no other.
func Choose(chosen, accepted string) *Language {
	if l := Find(chosen); l != nil {
		return l
	}
	best, weight := Find("en"), 0.0
	for i, entry := range strings.SplitN(accepted, ",", maxAccepted) {
		tag, q, weighted := strings.Cut(entry, ";")
		w := 1.0
		if weighted {
			w, _ = strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(q), "q="), 64) // 0 if it is no number
		}
		if l := accept(strings.ToLower(strings.TrimSpace(tag))); l != nil && w > weight && i < maxAccepted {
			best, weight = l, w
		}
	}
	return best
}

// accept returns the language for a tag in lower case, nil if there is none. Readers of traditional
// Chinese get their next language.
func accept(tag string) *Language {
	base, rest, _ := strings.Cut(tag, "-")
	if base == "zh" {
		for part := range strings.SplitSeq(rest, "-") {
			if part == "hant" || part == "tw" || part == "hk" || part == "mo" {
				return nil
			}
		}
		base = "zh-Hans"
	}
	return Find(base)
}
