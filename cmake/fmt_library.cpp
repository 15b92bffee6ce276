// The compiled half of fmt, built here because Debian ships it only as a shared object. Using fmt
// as headers alone would cost every file that formats three seconds of compile time.
//
// fmt's headers declare these templates `extern` and leave their bodies to whoever includes
// format-inl.h, once.

#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE

namespace detail {

template FMT_API auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API void buffer<char>::append(const char*, const char*);
template FMT_API void vformat_to(buffer<char>&, string_view,
                                 basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);

template FMT_API auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;

}  // namespace detail

FMT_END_NAMESPACE
