package ssq

import "testing"

func TestParseNumber(t *testing.T) {
	for text, want := range map[string]float64{
		"0": 0, "7": 7, "-3": -3, " 12 ": 12, "+4": 4, "2147483648": 2147483648, "-999999999999999": -999999999999999,
		"1.5": 1.5, "-.5": -.5, "12345678901234567890": 12345678901234567890,
	} {
		if got, ok := parseNumber(text); !ok || got != want {
			t.Errorf("parseNumber(%q) = %v, %v; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "-", "+", ".", "1+2", "-+1", "--1", "0x10", "1e3", "inf", "NaN", "1_000", "1 2"} {
		if got, ok := parseNumber(text); ok {
			t.Errorf("parseNumber(%q) = %v, want no number", text, got)
		}
	}
}
