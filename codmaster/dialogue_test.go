package codmaster

import "testing"

func TestRecordingsHoldNoKeys(t *testing.T) {
	for text, want := range map[string]string{
		"\xff\xff\xff\xffgetKeyAuthorize 0 KEYKEY": "\xff\xff\xff\xffgetKeyAuthorize ********",
		"\xff\xff\xff\xffheartbeat COD-4\n":        "\xff\xff\xff\xffheartbeat COD-4\n",
	} {
		b := []byte(text)
		if dialogueOf().Blot(b); string(b) != want {
			t.Errorf("%q becomes %q, want %q", text, b, want)
		}
	}
}
