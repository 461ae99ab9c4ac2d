package schema

// nameSet is the member names of one object. The zero value is empty.
type nameSet struct {
	list  [][]byte            // unquoted, the first ones
	index map[string]struct{} // all, once there are many
}

// listed is how many names are compared one by one.
const listed = 32

// add adds a quoted member name; false when it is there already. Names are
// compared as they read, not as they are written: "a" and "\u0061" are one.
func (n *nameSet) add(quoted []byte, escapes bool) bool {
	name := quoted[1 : len(quoted)-1]
	if escapes {
		name = unquote(name)
	}
	if len(n.list) >= listed {
		return n.addToIndex(string(name))
	}
	for _, known := range n.list {
		if string(known) == string(name) {
			return false
		}
	}
	n.list = append(n.list, name)
	return true
}

func (n *nameSet) addToIndex(name string) bool {
	if n.index == nil {
		n.index = make(map[string]struct{}, 2*listed)
		for _, known := range n.list {
			n.index[string(known)] = struct{}{}
		}
	}
	_, known := n.index[name]
	n.index[name] = struct{}{}
	return !known
}
