package operator

import (
	"fmt"
	"hash/maphash"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/web"
	"github.com/respawnd/respawnd/webservices/motd"
)

// takenOver returns the values that services and daemon receive on a reload, as
// text.
func takenOver(cfg *services.Config) string {
	var b strings.Builder
	write(&b, reflect.ValueOf(cfg.Shared()), 0)
	for _, e := range daemon.List(cfg) {
		write(&b, reflect.ValueOf(e.Service), 0)
	}
	return b.String()
}

// write prints a value and the targets of its pointers, but without functions,
// channels, clocks and counters in arrays and maps.
func write(b *strings.Builder, v reflect.Value, depth int) {
	switch {
	case depth > 6 || !v.IsValid() || v.Type() == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[maphash.Seed]():
	case v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface:
		if !v.IsNil() {
			write(b, v.Elem(), depth+1)
		}
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[netip.Addr]() && v.Type() != reflect.TypeFor[netip.Prefix]():
		for _, f := range v.Fields() {
			write(b, f, depth+1)
		}
	case v.Kind() == reflect.Func || v.Kind() == reflect.Chan || v.Kind() == reflect.Array || v.Kind() == reflect.Map:
	case v.Kind() == reflect.Slice && v.Len() > 8: // where addresses are counted
	default:
		fmt.Fprintf(b, "%v;", v)
	}
}

// Changing a live field changes the settings of a service on a reload.
func TestEveryKeyThatReloadsReachesAService(t *testing.T) {
	base, _, err := services.Load(configs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	before, live := takenOver(base), 0
	if again := takenOver(base); again != before {
		t.Fatalf("the same configuration gives services different values:\n%s\n%s", before, again)
	}
	var walk func(path string, index []int, of reflect.Type)
	walk = func(path string, index []int, of reflect.Type) {
		if of.Kind() == reflect.Struct && of != reflect.TypeFor[netip.Addr]() {
			for i := range of.NumField() {
				walk(path+"."+of.Field(i).Name, append(slices.Clone(index), i), of.Field(i).Type)
			}
			return
		}
		now := *base
		another(t, path, reflect.ValueOf(&now).Elem().FieldByIndex(index))
		next, _ := configs.Reload(base, &now)
		if reflect.DeepEqual(next, base) {
			return
		}
		live++
		if takenOver(next) == before {
			t.Errorf("a reload takes over %s, and no service notices", path)
		}
	}
	walk("", nil, reflect.TypeFor[services.Config]())
	if live < 70 {
		t.Errorf("%d fields are taken over, want 70 or more", live)
	}
}

// another gives a field another value.
func another(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	prefix := netip.MustParsePrefix("192.0.2.0/24")
	switch f := v.Addr().Interface().(type) {
	case *string:
		*f = map[string]string{".ZanMaster.NotEnforcing": "mark", ".GPCM.SecondLogin": "allow", ".Web.Title": "The Inn", ".Web.Contact": "ann@example.org", ".Web.Message": "Hello"}[path]
	case *int:
		*f++
	case *time.Duration:
		*f += 30 * time.Second
	case *bool:
		*f = !*f
	case *[]netip.Prefix:
		*f = []netip.Prefix{prefix}
	case *netip.Addr:
		*f = prefix.Addr()
	case *[]configs.Advertised:
		*f = append(slices.Clone(*f), configs.Advertised{As: netip.MustParseAddr("203.0.113.9")})
	case *[]string:
		*f = []string{"another"}
	case *[]netip.AddrPort:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case *[]configs.OtherMaster:
		m, err := configs.ParseOtherMaster("q3 example.org protocol=1")
		rig.Must(t, err)
		*f = append(slices.Clone(*f), m)
	case *[]configs.StaticServer, *[]configs.Webhook, *[]motd.Patch, *[]web.Link:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	default:
		t.Fatalf("%s: no other value of type %v", path, v.Type())
	}
	if path == ".SSQ.Password" || path == ".Games.File" {
		v.SetString("another")
	}
}
