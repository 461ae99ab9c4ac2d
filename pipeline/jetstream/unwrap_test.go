package jetstream

import "testing"

func TestLocate(t *testing.T) {
	t.Parallel()
	want := place{pending: 12, count: 2, sequence: 1017, consumer: 45}
	wantText := placeText{count: "2", sequence: "1017", stored: "1763716391123456789"}
	for _, reply := range []string{
		"$JS.ACK.ORDERS.service.2.1017.45.1763716391123456789.12",
		"$JS.ACK._.ABC.ORDERS.service.2.1017.45.1763716391123456789.12",
		"$JS.ACK._.ABC.ORDERS.service.2.1017.45.1763716391123456789.12.random",
	} {
		if p, text, err := locate(reply); err != nil || p != want || text != wantText {
			t.Errorf("%s: %+v, %+v, %v", reply, p, text, err)
		}
	}
	for _, reply := range []string{
		"", "_INBOX.a.b", "$JS.ACK.ORDERS.service.2.1017.45", "$JS.ACK.ORDERS.service.2.x.45.1.12", "$JS.API.ORDERS.service.2.1017.45.1.12",
	} {
		if p, _, err := locate(reply); err == nil {
			t.Errorf("%q: %+v, want an error", reply, p)
		}
	}
}
