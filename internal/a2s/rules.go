package a2s

import "slices"

// MaxRules is the most rules of an answer.
const MaxRules = 2048

const leastRule = 2 // bytes of a rule without name and value

// Rule is a setting of a server. Both parts are the bytes as they were sent:
// usually text, but some games put binary data there.
type Rule struct{ Name, Value string }

// Rules are the settings of a server.
//
//	short   count
//	        each rule:
//	string  name, value
type Rules struct {
	Count uint16 // as the server states it
	List  []Rule // in its order; a name may come twice

	// Truncated reports that fewer rules came than Count; a rule that was cut
	// is left out.
	Truncated bool
}

// AppendRules appends a whole KindRules: Count and List.
func AppendRules(dst []byte, r Rules) []byte {
	dst = appendUint16(appendHeader(dst, KindRules), r.Count)
	for _, one := range r.List {
		dst = appendText(appendText(dst, one.Name), one.Value)
	}
	return dst
}

// ParseRules reads the body of a KindRules. It reads at most as many rules as
// are stated; surplus bytes are ignored. The error is ErrMalformed, if not even
// the count is there, or ErrTooMuch.
func ParseRules(body []byte) (Rules, error) {
	if len(body) < 2 {
		return Rules{}, ErrMalformed
	}
	r := reader{s: string(body)}
	rules := Rules{Count: r.uint16()}
	rules.List = slices.Grow(rules.List, min(int(rules.Count), len(r.s)/leastRule, MaxRules))
	for len(rules.List) < int(rules.Count) {
		one := Rule{Name: r.text(), Value: r.text()}
		if r.short {
			rules.Truncated = true
			break
		}
		if len(rules.List) == MaxRules {
			return Rules{}, ErrTooMuch
		}
		rules.List = append(rules.List, one)
	}
	return rules, nil
}
