//! Sets the linker flags a Node addon needs.

fn main() {
    #[cfg(feature = "node")]
    napi_build::setup();
}
