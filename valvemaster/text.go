package valvemaster

import (
	"bytes"
	"strings"
)

// matchWildcards reports whether text matches pattern, in which * stands for
// any text. Both are lower case. Its time is linear in their lengths.
func matchWildcards(text, pattern []byte) bool {
	head, pattern, wild := bytes.Cut(pattern, []byte{'*'})
	if !wild {
		return bytes.Equal(text, head)
	}
	text, begins := bytes.CutPrefix(text, head)
	if !begins {
		return false
	}
	for {
		var part []byte
		if part, pattern, wild = bytes.Cut(pattern, []byte{'*'}); !wild {
			return bytes.HasSuffix(text, part)
		}
		// The leftmost match is sufficient, because * may stand for any text
		// after it.
		i := bytes.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
}

// hasTags reports whether tags, separated by commas or semicolons, contain all
// or any of the wanted ones. It is true if none are wanted.
func hasTags(tags string, wanted []byte, all bool) bool {
	none := true
	for len(wanted) > 0 {
		var tag []byte
		tag, wanted = cutTag(wanted)
		if len(tag) == 0 {
			continue
		}
		none = false
		if hasTag(tags, tag) != all {
			return !all
		}
	}
	return all || none
}

// countTags returns the number of tags that hasTags compares, empty ones
// included.
func countTags(wanted []byte) int {
	return bytes.Count(wanted, []byte{','}) + bytes.Count(wanted, []byte{';'}) + 1
}

func cutTag(tags []byte) (tag, rest []byte) {
	if i := bytes.IndexAny(tags, ",;"); i >= 0 {
		return tags[:i], tags[i+1:]
	}
	return tags, nil
}

func hasTag(tags string, tag []byte) bool {
	for len(tags) > 0 {
		i := strings.IndexAny(tags, ",;")
		if i < 0 {
			return tags == string(tag)
		}
		if tags[:i] == string(tag) {
			return true
		}
		tags = tags[i+1:]
	}
	return false
}
