package peerchat

import (
	"net/netip"
	"testing"
)

func TestEncodeUser(t *testing.T) {
	for _, v := range loadJSON[[]struct {
		IP      netip.Addr
		Profile uint32
		User    string
	}](t, "users.json") {
		if got := encodeUser(v.IP, v.Profile); got != v.User {
			t.Errorf("encodeUser(%v, %d) = %q, want %q", v.IP, v.Profile, got, v.User)
		}
		if ip, pid, ok := decodeUser(v.User); ip != v.IP || pid != v.Profile || !ok {
			t.Errorf("decodeUser(%q) = %v, %d, %v", v.User, ip, pid, ok)
		}
		if got := encodeUser(netip.AddrFrom16(v.IP.As16()), v.Profile); got != v.User {
			t.Errorf("encodeUser of %v in IPv6 = %q, want %q", v.IP, got, v.User)
		}
	}
	if got, want := encodeUser(netip.IPv6Loopback(), 1), encodeUser(netip.IPv4Unspecified(), 1); got != want {
		t.Errorf("encodeUser of IPv6 = %q, want %q", got, want)
	}
}

func TestDecodeUser_others(t *testing.T) {
	for _, s := range []string{
		"", "plainuser", "X1lsaFvqsX|", "X1lsaFvqsX100001", "Y1lsaFvqsX|1", "X1lsaFvqsY|1", "X1lsaFvqzX|1", "XX1lsaFvqsX|1",
		"X1lsaFvqsX|x", "X1lsaFvqsX|-1", "X1lsaFvqsX|1x", "X1lsaFvqsX|4294967296", "XaaaaaaaX|200",
	} {
		if ip, pid, ok := decodeUser(s); ok || ip.IsValid() || pid != 0 {
			t.Errorf("decodeUser(%q) = %v, %d, %v", s, ip, pid, ok)
		}
	}
	if _, pid, ok := decodeUser("XaaaaaaaaX|0"); pid != 0 || !ok {
		t.Error("a user without a profile is not read")
	}
}

func TestStagingName(t *testing.T) {
	for _, v := range loadJSON[[]struct {
		Old             bool
		Public, Private netip.Addr
		Port            uint16
		Channel         string
	}](t, "staging.json") {
		if k := kindOf(v.Channel); k.room != roomStaging || k.game != "gmtest" {
			t.Errorf("kindOf(%q) = %+v", v.Channel, k)
		}
		if v.Old { // the public address alone, as in user names
			user := v.Channel[len("#GSP!gmtest!"):]
			if ip, _, ok := decodeUser(user + "|0"); ip != v.Public || !ok {
				t.Errorf("%q is of %v, want %v", v.Channel, ip, v.Public)
			}
		} else if got := StagingName("gmtest", v.Public, v.Private, v.Port); got != v.Channel {
			t.Errorf("StagingName(%v, %v, %d) = %q, want %q", v.Public, v.Private, v.Port, got, v.Channel)
		}
	}
}

// FuzzDecodeUser encodes each decoded field again.
func FuzzDecodeUser(f *testing.F) {
	f.Add("X1lsaFvqsX|100001")
	f.Fuzz(func(t *testing.T, s string) {
		ip, pid, ok := decodeUser(s)
		if !ok {
			return
		}
		again := encodeUser(ip, pid)
		if ip2, pid2, ok := decodeUser(again); ip2 != ip || pid2 != pid || !ok {
			t.Errorf("%q is %v, %d; written %q", s, ip, pid, again)
		}
	})
}
