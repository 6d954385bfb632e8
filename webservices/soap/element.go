package soap

import "strconv"

// Element is an element of a request: a text or children.
type Element struct {
	Name     string // without the prefix of its namespace
	Value    string // valid UTF-8; empty if there are children
	Children []*Element
}

// Child returns the first child with a name, nil if there is none. It may be
// called on nil.
func (e *Element) Child(name string) *Element {
	if e == nil {
		return nil
	}
	for _, c := range e.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Text returns the text of the first child with a name, "" if there is none.
func (e *Element) Text(name string) string {
	if c := e.Child(name); c != nil {
		return c.Value
	}
	return ""
}

// Int returns the number of the first child with a name. ok is false if there is
// no such child or its text is not a number of 64 bits.
func (e *Element) Int(name string) (n int64, ok bool) {
	n, err := strconv.ParseInt(e.Text(name), 10, 64)
	return n, err == nil
}
