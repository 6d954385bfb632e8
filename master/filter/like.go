package filter

import "github.com/respawnd/respawnd/internal/ascii"

// like evaluates opLike or opNotLike. Null is neither like anything nor not.
func (e *evaluator) like(n node) bool {
	text, pattern := e.value(int(n.a)), e.value(int(n.b))
	if text.kind == kindNull || pattern.kind == kindNull {
		return false
	}
	return e.matches(text.asText(), pattern.asText()) == (n.op == opLike)
}

// matches reports whether the whole of text fits pattern. It places each
// stretch of pattern between two % as far left as it fits; placing it further
// right could not help the stretches after it. So only the last stretch that
// was begun is ever tried again, and the steps are at most len(text) times
// len(pattern).
func (e *evaluator) matches(text, pattern string) bool {
	const none = -1
	stretch, start := none, 0 // where it begins in pattern, and in text
	i, p := 0, 0
	for i < len(text) {
		e.steps--
		if e.steps <= 0 {
			return false
		}
		if p < len(pattern) && pattern[p] == '%' {
			p++
			if p == len(pattern) {
				return true
			}
			stretch, start = p, i
			continue
		}
		if width := fits(text[i], pattern[p:]); width > 0 {
			i++
			p += width
			continue
		}
		if stretch == none {
			return false
		}
		start++
		i, p = start, stretch
	}
	for p < len(pattern) && pattern[p] == '%' {
		p++
	}
	return p == len(pattern)
}

// fits returns how many bytes of pattern stand for c, 0 if pattern is at its end
// or asks for another byte. pattern does not start with %.
func fits(c byte, pattern string) (width int) {
	if pattern == "" {
		return 0
	}
	want, width := pattern[0], 1
	switch {
	case want == '_':
		return width
	case want == '\\' && len(pattern) > 1:
		want, width = pattern[1], 2
	}
	if ascii.Lower(want) != ascii.Lower(c) {
		return 0
	}
	return width
}
