package peerchat

import "strings"

// maxPairs is the maximum number of keys that one line may set or request.
const maxPairs = 64

// Words of a request for keys.
const (
	broadcastPrefix = "b_"  // keys that begin so are sent to all members when they are set
	allBroadcast    = "b_*" // as a name: also all keys that begin so
	allKeys         = "*"   // as the whole text: all keys
)

// keyPair is a key and its value. Neither has a backslash.
type keyPair struct{ key, value string }

// isBroadcast reports whether a key is sent to members when it is set.
func isBroadcast(key string) bool { return strings.HasPrefix(key, broadcastPrefix) }

// parsePairs reads the text of SETKEY, SETCKEY and SETCHANKEY: \key\value\key\value.
// A last key without a value has the empty one; a pair without a
// key is dropped. It returns false for a text that does not begin with a backslash,
// has no key or more than maxPairs.
//
// The strings are copies: to keep one does not keep the line.
func parsePairs(text string) ([]keyPair, bool) {
	rest, ok := strings.CutPrefix(text, `\`)
	if !ok {
		return nil, false
	}
	var pairs []keyPair
	for more := true; more; {
		var p keyPair
		p.key, rest, more = strings.Cut(rest, `\`)
		if more {
			p.value, rest, more = strings.Cut(rest, `\`)
		}
		if p.key == "" {
			continue
		}
		if len(pairs) == maxPairs {
			return nil, false
		}
		pairs = append(pairs, keyPair{strings.Clone(p.key), strings.Clone(p.value)})
	}
	return pairs, len(pairs) > 0
}

// parseNames reads the text of GETKEY, GETCKEY and GETCHANKEY: \name\name, of
// which \b_* is a wish for all broadcast keys besides, or * for all keys. The
// answer lists values in the order of the names, so empty names keep their
// positions. Names after the maxPairs-th are dropped.
func parseNames(text string) (names []string, broadcast, all bool) {
	if text == allKeys {
		return nil, false, true
	}
	rest := strings.TrimPrefix(text, `\`)
	if rest == "" {
		return nil, false, false
	}
	for more := true; more; {
		var name string
		name, rest, more = strings.Cut(rest, `\`)
		switch {
		case name == allBroadcast:
			broadcast = true
		case len(names) < maxPairs:
			names = append(names, name)
		}
	}
	return names, broadcast, false
}

// appendValues appends values, each after a backslash, for the text of an
// answer.
func appendValues(dst []byte, values ...string) []byte {
	for _, v := range values {
		dst = appendKeyText(append(dst, '\\'), v)
	}
	return dst
}

// appendPairs appends names and values, each after a backslash, for the text of
// an answer or of a broadcast.
func appendPairs(dst []byte, pairs ...keyPair) []byte {
	for _, p := range pairs {
		dst = appendValues(dst, p.key, p.value)
	}
	return dst
}

// appendKeyText appends a key or value. There is no escape for a backslash: it
// becomes a slash, as clients do with their keys.
func appendKeyText(dst []byte, s string) []byte {
	if strings.IndexByte(s, '\\') >= 0 {
		s = strings.ReplaceAll(s, `\`, "/")
	}
	return appendClean(dst, s)
}
