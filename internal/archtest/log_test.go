package archtest

import (
	"regexp"
	"strings"
	"testing"
)

// bareDuration is a call of zerolog that writes a duration as a number without its
// unit. Stringer writes it with the unit.
var bareDuration = regexp.MustCompile(`\.(Dur|Durs|TimeDiff)\("`)

func TestDurationsInLog(t *testing.T) {
	sourceFiles(t, func(name string, content []byte) {
		if strings.HasSuffix(name, ".go") && bareDuration.Match(content) {
			t.Errorf("%s logs a duration without its unit: use Stringer", name)
		}
	})
}
