package verdicts

// Speakers is for the tests with the words of all services.
var Speakers = speakers

// Count returns the number of verdicts.
func Count() Verdict { return Verdict(len(texts)) }

// Words returns the message of the log line of a verdict, and its explanation; elsewhere: see text.
func (v Verdict) Words() (message string, elsewhere bool, x Explanation) {
	return v.text().message, v.text().elsewhere, v.text().Explanation
}

// Fails reports whether the verdict is the outcome of a round, and not good.
func (v Verdict) Fails() bool { return v.step() == 0 && !v.text().Good }
