package sake

import "testing"

// TestUnsignedNumbers stores negative numbers as the client library of 2012 writes them: as
// unsigned ones of 32 bits.
func TestUnsignedNumbers(t *testing.T) {
	for text, tt := range map[string]struct{ kind, result, want string }{
		"2147483647":          {"intValue", "Success", "2147483647"},
		"2147483648":          {"intValue", "Success", "-2147483648"},
		"4294967291":          {"intValue", "Success", "-5"},
		"4294967295":          {"intValue", "Success", "-1"},
		"4294967296":          {"intValue", "FieldTypeInvalid", ""},
		"-2147483648":         {"intValue", "Success", "-2147483648"},
		"-2147483649":         {"intValue", "FieldTypeInvalid", ""},
		"4294934528":          {"shortValue", "Success", "-32768"},
		"4294934527":          {"shortValue", "FieldTypeInvalid", ""},
		"65531":               {"shortValue", "FieldTypeInvalid", ""},
		"4294967292":          {"byteValue", "FieldTypeInvalid", ""},
		"4294967293":          {"int64Value", "Success", "4294967293"},
		"0000000004294967290": {"intValue", "Success", "-6"},
	} {
		t.Run(tt.kind+" "+text, func(t *testing.T) {
			f := newFixture(t, nil)
			created := ""
			if tt.result == "Success" {
				created = id(1)
			}
			f.want(1, "CreateRecord", "t", record("n", tt.kind, text), tt.result, created)
			if tt.result == "Success" {
				f.want(1, "GetMyRecords", "t", fieldsOf("n"), "Success", list([]string{tt.kind, tt.want}))
			}
		})
	}
}
