# Makes of haneke.h, as people read it, what doxygen reads:
#   a banner ("/* Reading ---- */") begins a group, the one with annotations is left out;
#   a labelled paragraph of a comment (" * Threads     Any.") becomes one with a heading;
#   among errors "_IO" is HNK_ERROR_IO, so that it becomes a link.

function close_group() {
    if (group == "hidden") print "/** @endcond */"
    else if (group != "") print "/** @} */"
    group = ""
}

/^\/\* .* ---+ \*\/$/ {
    close_group()
    title = $0
    gsub(/^\/\* | -+ \*\/$/, "", title)
    if (title == "Annotations: read by clang and Swift, invisible to everyone else.") {
        group = "hidden"
        print "/** @cond */"
    } else {
        group = tolower(title)
        gsub(/[^a-z]+/, "_", group)
        printf "/** @defgroup haneke_%s %s */\n/** @addtogroup haneke_%s\n * @{ */\n", group, title, group
    }
    next
}

/^HNK_END_NONNULL/ { close_group() }

/^\/\*\*/ { in_errors = 0 }

/^ \* (Status|Ownership|Threads|Processes|Units|Memory|Options|Durability|Cost|Errors)  / {
    label = $2
    in_errors = label == "Errors"
    sub(/^ \* [A-Z][a-z]+ +/, " * @par " label "\n * ")
}

in_errors { $0 = with_whole_names($0) }

{ print }

function with_whole_names(line,   out) {
    while (match(line, /(^|[ ,(])_[A-Z]/)) {
        out = out substr(line, 1, RSTART + RLENGTH - 3) "HNK_ERROR_"
        line = substr(line, RSTART + RLENGTH - 1)
    }
    return out line
}
